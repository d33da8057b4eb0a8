#include "cli/start.h"

#include <algorithm>
#include <cstdio>

#include "base/strings.h"
#include "cli/machine.h"
#include "cli/plan_files.h"

namespace outrider::cli {
namespace {

using plan::Problem;

bool is_of_config(const Problem& problem) {
  return problem.field.starts_with("target.config.") || problem.field.starts_with("draft.config.");
}

// Drafters that prompts serve have no files; one that does not draft is not opened.
bool opens_drafter(const plan::Intent& intent) {
  if (!intent.draft || !intent.draft->model || intent.draft->num_speculative_tokens == 0) return false;
  const auto& method = intent.draft->method;
  return !method || method == "dspark" || method == "dflash";
}

// What is wrong with a folder as such is told of the flag that named it.
base::Refusal named_by_flag(base::Refusal refusal, const std::string& flag, const std::string& path) {
  for (base::Problem& problem : refusal.problems) {
    if (problem.field != path || !problem.found.empty()) continue;
    problem.field = flag;
    problem.found = base::printable(path);
  }
  return refusal;
}

base::Result<base::Done> open_checkpoints(const plan::Intent& intent, Files& files) {
  checkpoint::OpenOptions open{
      .load_format = load_format_of(intent),
      .overrides = intent.target.hf_overrides ? &*intent.target.hf_overrides : nullptr};
  auto target = checkpoint::open_model(intent.model, open, print_warning);
  if (!target.ok()) return named_by_flag(std::move(target).error(), "--model", intent.model);
  files.target = std::move(target).value();
  if (!opens_drafter(intent)) return base::Done{};
  open.overrides = nullptr;  // they are the target's
  auto drafter = checkpoint::open_drafter(*intent.draft->model, files.target.shape, open, print_warning);
  if (!drafter.ok())
    return named_by_flag(std::move(drafter).error(), "--speculative-config model", *intent.draft->model);
  files.drafter = std::move(drafter).value();
  return base::Done{};
}

// Before prompts are read nobody knows how much memory is needed.
plan::Machine sizeless_machine() {
  plan::Machine machine = this_machine();
  machine.device_memory_bytes.reset();
  return machine;
}

// A fault of a config and the rule that judges the same field are one problem.
void add_judgement(const base::Result<plan::Plan, plan::PlanRefusal>& judged, bool files_told,
                   std::vector<Problem>& problems) {
  if (judged.ok()) return;
  for (const Problem& problem : judged.error().problems) {
    if (files_told && (is_of_config(problem) || problem.rule == "CONFIG")) continue;
    std::erase_if(problems, [&](const Problem& old) { return old.field == problem.field; });
    problems.push_back(problem);
  }
}

}  // namespace

void print_warning(const std::string& text) { std::fprintf(stderr, "warning: %s\n", text.c_str()); }

checkpoint::LoadFormat load_format_of(const plan::Intent& intent) {
  return intent.target.load_format == "dummy" ? checkpoint::LoadFormat::Dummy : checkpoint::LoadFormat::Mmap;
}

base::Problem typed(const Problem& problem) {
  std::string field = problem.field, rule = problem.message;
  const bool of_config = is_of_config(problem);
  if (field.starts_with("draft.") && !of_config) {
    field = "--speculative-config " + field.substr(6);
  } else if (field.starts_with("speculative_config")) {
    field = "--speculative-config" + (field.size() > 18 ? " " + field.substr(19) : std::string());
  } else if (field.starts_with("target.") && !of_config) {
    const std::size_t dot = field.find('.', 7);  // a key of a JSON flag stays as it is
    std::string flag = field.substr(7, dot == std::string::npos ? dot : dot - 7);
    std::replace(flag.begin(), flag.end(), '_', '-');
    field = "--" + flag + (dot == std::string::npos ? "" : field.substr(dot));
  }
  for (const std::string_view role : {"target: ", "draft: ", "target.", "draft."}) {
    if (rule.starts_with(role) && !of_config) rule = rule.substr(role.size());
  }
  return {.field = std::move(field),
          .found = problem.value,
          .rule = rule + " (rule " + problem.rule + ")",
          .remedy = problem.remedy};
}

void judge_rest(const plan::CommandLine& command, base::Inspector& inspector) {
  if (command.intent.model.empty()) return;
  plan::CommandLine copy = command;
  const PlanInputs inputs = read_plan_inputs(copy);
  std::vector<Problem> problems = inputs.problems;
  if (inputs.facts)
    add_judgement(plan::plan(copy.intent, *inputs.facts, sizeless_machine()), false, problems);
  const std::vector<base::Problem> told = inspector.problems();
  for (const Problem& problem : problems) {
    base::Problem more = typed(problem);
    const bool new_one = std::none_of(told.begin(), told.end(),
                                      [&](const base::Problem& old) { return old.field == more.field; });
    if (new_one) inspector.report(std::move(more));
  }
}

base::Result<Files> open_files(plan::CommandLine command) {
  base::Inspector inspector;
  PlanInputs inputs = read_plan_inputs(command);
  Files files{.facts = {}, .target = {}, .drafter = std::nullopt};
  auto opened = open_checkpoints(command.intent, files);
  const bool files_told = !opened.ok();
  if (opened.ok() && inputs.problems.empty()) {
    OUTRIDER_CHECK(inputs.facts.has_value());
    files.facts = std::move(*inputs.facts);
    return files;
  }
  if (files_told) inspector.report_all(std::move(opened).error());
  // What the engine's own reader has told of a file, in its words, is not told again; all else is.
  std::vector<Problem> problems;
  for (Problem& problem : inputs.problems) {
    const bool told = files_told && (problem.field.starts_with("target.") || files.target.weights != nullptr);
    if (!told) problems.push_back(std::move(problem));
  }
  if (inputs.facts) {
    add_judgement(plan::plan(command.intent, *inputs.facts, sizeless_machine()), files_told, problems);
  }
  for (const Problem& problem : problems) inspector.report(typed(problem));
  return std::move(inspector).refuse();
}

base::Result<plan::Plan> plan_run(const plan::Intent& intent, const plan::ModelsFacts& facts) {
  auto judged = plan::plan(intent, facts, this_machine());
  if (judged.ok()) return std::move(judged).value();
  base::Inspector inspector;
  for (const Problem& problem : judged.error().problems) inspector.report(typed(problem));
  return std::move(inspector).refuse();
}

}  // namespace outrider::cli
