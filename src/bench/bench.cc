#include "bench/bench.h"

#include <algorithm>

#include "base/clock.h"
#include "base/strings.h"
#include "bench/accuracy.h"
#include "bench/drafting.h"
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
                  {"threads", std::to_string(question.thread_count)},
                  {"target", std::string(kernels::name_of(question.kernels))}};
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

// Parts that fail say so by a refusal, which ends the run.
template <class Measure>
base::Result<base::Done> add_part(const MachineProbe& probe, const Listener& listener, Part part,
                                  Report& report, Measure measure) {
  std::optional<base::Refusal> refusal;
  report.parts.push_back(with_probes(probe, listener, name_of(part), [&]() -> PartReport {
    base::Result<PartReport> result = measure();
    if (result.ok()) return std::move(*result);
    refusal = std::move(result).error();
    return {.part = name_of(part)};
  }));
  if (refusal) return std::move(*refusal);
  return base::Done{};
}

base::Result<base::Done> measure_drafter(const Question& question, const Listener& listener,
                                         kernels::Executor& executor, const MachineProbe& probe,
                                         const std::shared_ptr<model::Model>& model, Report& report) {
  const Settings& settings = question.settings;
  if (!asks_for(settings, Part::Draft) && !asks_for(settings, Part::Speculate)) return base::Done{};
  const DraftSubject subject{
      .target = model,
      .executor = executor,
      .probe = probe,
      .settings = settings,
      .plan = *question.drafting,
      .draft_source = question.drafter ? question.drafter->weights.get() : nullptr,
      .end_tokens = settings.prompts.empty() ? std::vector<base::TokenId>{} : question.target->end_token_ids};
  if (asks_for(settings, Part::Draft)) {
    OUTRIDER_TRY_DONE(add_part(probe, listener, Part::Draft, report, [&] { return measure_draft(subject); }));
  }
  if (asks_for(settings, Part::Speculate)) {
    OUTRIDER_TRY_DONE(
        add_part(probe, listener, Part::Speculate, report, [&] { return measure_speculate(subject); }));
  }
  return base::Done{};
}

bool needs_model(const Settings& settings) {
  return std::any_of(settings.parts.begin(), settings.parts.end(),
                     [](Part part) { return part != Part::Machine && part != Part::Accuracy; });
}

// Everything that needs the target's weights in memory.
base::Result<base::Done> measure_model(const Question& question, const Listener& listener, Report& report) {
  const Settings& settings = question.settings;
  const engine::EnginePlan& plan = *question.plan;
  kernels::Executor executor(plan.target, plan.thread_count, plan.arithmetic);
  const double start = base::seconds_now();
  OUTRIDER_TRY(
      const std::shared_ptr<model::Model> model,
      model::load_model(executor, plan.shape, *question.target->weights,
                        {.position_count = plan.sequence_tokens_max + 1,
                         .load = {.quantization = plan.quantization, .on_progress = listener.on_load}}));
  report.facts.emplace_back("load seconds", base::to_text(static_cast<float>(base::seconds_now() - start)));
  report.facts.emplace_back("weights", format_text(plan));
  report.facts.emplace_back("weight bytes", std::to_string(model->weight_bytes()));
  const MachineProbe probe(executor, settings.probe_seconds);
  {
    TargetRun run(executor, *model, plan.cache, static_cast<int>(sequences_needed(settings)),
                  plan.sequence_tokens_max);
    run.fill(settings.context);
    measure_target({.run = run, .probe = probe, .settings = settings, .plan = plan}, listener, report);
  }
  return measure_drafter(question, listener, executor, probe, model, report);
}

}  // namespace

std::int64_t positions_needed(const Settings& settings) {
  std::int64_t positions = settings.context + settings.decode_tokens + 1;
  if (asks_for(settings, Part::Prefill)) {
    for (const std::int64_t tokens : settings.prefill_tokens) positions = std::max(positions, tokens);
  }
  if (asks_for(settings, Part::Speculate)) {
    positions = std::max(positions, settings.context + settings.output_tokens + 1);
    for (const Prompt& prompt : settings.prompts) {
      positions =
          std::max(positions, static_cast<std::int64_t>(prompt.tokens.size()) + settings.output_tokens + 1);
    }
  }
  for (const int rows : settings.verify_rows) positions = std::max(positions, settings.context + rows);
  return positions;
}

std::int64_t sequences_needed(const Settings& settings) {
  return *std::max_element(settings.verify_rows.begin(), settings.verify_rows.end());
}

base::Result<base::Done> check_positions(const Settings& settings, const checkpoint::ModelShape& shape) {
  const std::int64_t needed = positions_needed(settings);
  if (needed <= shape.positions_max) return base::Done{};
  return base::refuse({.field = "--context, --rows, --prefill",
                       .found = std::to_string(needed) + " positions",
                       .rule = "the model has " + std::to_string(shape.positions_max),
                       .remedy = "ask for fewer"});
}

base::Result<Report> run_bench(const Question& question, const Listener& listener) {
  const Settings& settings = question.settings;
  OUTRIDER_CHECK_MSG(question.plan || settings.parts == std::vector<Part>{Part::Machine},
                     "parts that need a model need its plan");
  Report report;
  state_facts(question, report);
  if (asks_for(settings, Part::Machine)) {
    if (listener.on_part) listener.on_part("machine");
    const BusyWatch watch;
    report.parts.push_back(
        measure_machine(question.kernels, question.thread_count, settings.probe_seconds, settings.repeats));
    report.parts.back().foreign_cores = watch.foreign_cores();
  }
  if (asks_for(settings, Part::Accuracy)) {
    if (listener.on_part) listener.on_part("accuracy");
    OUTRIDER_TRY(PartReport part, measure_accuracy(settings, *question.plan, *question.target));
    report.parts.push_back(std::move(part));
  }
  if (needs_model(settings)) OUTRIDER_TRY_DONE(measure_model(question, listener, report));
  return report;
}

}  // namespace outrider::bench
