#include "bench/bench.h"

#include <algorithm>

#include "base/inspector.h"
#include "bench/parts.h"
#include "model/families.h"

namespace outrider::bench {
namespace {

const char* name_of(Part part) {
  for (const PartRow& row : kParts) {
    if (row.part == part) return row.name;
  }
  return "";
}

bool asks_for(const Settings& settings, Part part) {
  return std::find(settings.parts.begin(), settings.parts.end(), part) != settings.parts.end();
}

// The longest sequence that any part makes.
std::int64_t positions_needed(const Settings& settings) {
  std::int64_t positions = settings.context + settings.decode_tokens + 1;
  if (asks_for(settings, Part::Prefill)) {
    for (const std::int64_t tokens : settings.prefill_tokens) positions = std::max(positions, tokens);
  }
  for (const int rows : settings.verify_rows) positions = std::max(positions, settings.context + rows);
  return positions;
}

void check_question(const Question& question, base::Inspector& inspector) {
  const Settings& settings = question.settings;
  const bool machine_only = settings.parts == std::vector<Part>{Part::Machine};
  inspector.require(
      machine_only || question.target != nullptr,
      {.field = "--model", .found = "", .rule = "is needed for all parts but machine", .remedy = ""});
  if (question.target == nullptr) return;
  const std::int64_t needed = positions_needed(settings), most = question.target->shape.positions_max;
  inspector.require(needed <= most, {.field = "--context, --rows, --prefill",
                                     .found = std::to_string(needed) + " positions",
                                     .rule = "the model has " + std::to_string(most),
                                     .remedy = "ask for fewer"});
}

// Probes right before and after a part, and watches who else works meanwhile.
template <class Measure>
PartReport with_probes(const MachineProbe& probe, const Listener& listener, const char* name,
                       Measure measure) {
  if (listener.on_part) listener.on_part(name);
  const Limits before = probe.limits();
  const BusyWatch watch;
  PartReport part = measure();
  part.foreign_cores = watch.foreign_cores();
  part.before = before;
  part.after = probe.limits();
  return part;
}

std::string format_text(const engine::EnginePlan& plan) {
  if (plan.quantization == kernels::WeightFormat::Int8) return "int8";
  if (plan.quantization == kernels::WeightFormat::Int4) return "int4";
  return plan.arithmetic == kernels::Arithmetic::Bfloat16 ? "bfloat16" : "float32";
}

void state_facts(const Question& question, Report& report) {
  report.facts = {{"machine", processor_name()},
                  {"threads", std::to_string(question.engine.thread_count)},
                  {"target", std::string(kernels::name_of(question.engine.target))}};
}

void measure_target(const Subject& subject, const Listener& listener, Report& report) {
  using Measure = PartReport (*)(const Subject&);
  constexpr std::pair<Part, Measure> kMeasures[] = {{Part::Decode, measure_decode},
                                                    {Part::Verify, measure_verify},
                                                    {Part::Prefill, measure_prefill},
                                                    {Part::Moe, measure_moe}};
  for (const auto& [part, measure] : kMeasures) {
    if (!asks_for(subject.settings, part)) continue;
    report.parts.push_back(with_probes(subject.probe, listener, name_of(part),
                                       [&, measure = measure] { return measure(subject); }));
  }
}

}  // namespace

base::Result<Report> run_bench(const Question& question, const Listener& listener) {
  base::Inspector inspector;
  check_question(question, inspector);
  if (!inspector.clean()) return std::move(inspector).refuse();
  const Settings& settings = question.settings;
  Report report;
  state_facts(question, report);
  if (asks_for(settings, Part::Machine)) {
    if (listener.on_part) listener.on_part("machine");
    const BusyWatch watch;
    report.parts.push_back(measure_machine(question.engine.target, question.engine.thread_count,
                                           settings.probe_seconds, settings.repeats));
    report.parts.back().foreign_cores = watch.foreign_cores();
  }
  if (question.target == nullptr) return report;

  engine::EngineSettings engine = question.engine;
  engine.speculative.reset();
  engine.sequence_tokens_max = positions_needed(settings);
  OUTRIDER_TRY(const engine::EnginePlan plan,
               engine::derive_engine_plan(engine, question.target->shape, std::nullopt));
  kernels::Executor executor(plan.target, plan.thread_count, plan.arithmetic);
  OUTRIDER_TRY(
      const std::shared_ptr<model::Model> model,
      model::load_model(executor, plan.shape, *question.target->weights,
                        {.position_count = plan.sequence_tokens_max + 1,
                         .load = {.quantization = plan.quantization, .on_progress = listener.on_load}}));
  report.facts.emplace_back("weights", format_text(plan));
  report.facts.emplace_back("weight bytes", std::to_string(model->weight_bytes()));
  const MachineProbe probe(executor, settings.probe_seconds);
  const int sequences = *std::max_element(settings.verify_rows.begin(), settings.verify_rows.end());
  TargetRun run(executor, *model, plan.cache, sequences, plan.sequence_tokens_max);
  run.fill(settings.context);
  measure_target({.run = run, .probe = probe, .settings = settings, .plan = plan}, listener, report);
  return report;
}

}  // namespace outrider::bench
