#include "cli/plan_engine.h"

#include <algorithm>

#include "cli/plan_files.h"

namespace outrider::cli {
namespace {

const char* name_of(engine::DraftMethod method) {
  switch (method) {
    case engine::DraftMethod::DSpark:
      return "dspark";
    case engine::DraftMethod::DFlash:
      return "dflash";
    case engine::DraftMethod::Ngram:
      return "ngram";
  }
  return "";
}

// "target.max_model_len" -> "--max-model-len"; the drafter's settings are keys of its config.
std::string flag_of(const std::string& field) {
  if (field.starts_with("draft.config.") || field.starts_with("target.config.")) return field;
  if (field.starts_with("draft.")) return "--speculative-config " + field.substr(6);
  if (!field.starts_with("target.")) return field;
  std::string flag = "--" + field.substr(7);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

base::Refusal refusal_of(const plan::PlanRefusal& refused) {
  base::Refusal refusal;
  for (const plan::Problem& problem : refused.problems) {
    refusal.problems.push_back({.field = flag_of(problem.field),
                                .found = problem.value,
                                .rule = problem.message + " (rule " + problem.rule + ")",
                                .remedy = problem.remedy});
  }
  return refusal;
}

}  // namespace

plan::Intent intent_of(const std::string& model, const EngineFlags& flags) {
  plan::Intent intent;
  intent.model = model;
  const engine::EngineSettings& settings = flags.settings;
  intent.target.max_model_len = settings.sequence_tokens_max;
  intent.target.max_num_seqs = settings.sequences_max;
  intent.target.max_num_batched_tokens = settings.step_rows_max;
  intent.target.block_size = settings.block_tokens;
  intent.target.num_threads = settings.thread_count;
  intent.target.hf_overrides = flags.overrides;
  if (flags.load_format == checkpoint::LoadFormat::Dummy) intent.target.load_format = "dummy";
  if (!settings.speculative) return intent;
  plan::AskedDraft draft;
  draft.method = name_of(settings.speculative->method);
  draft.model = flags.draft_model;
  draft.num_speculative_tokens = settings.speculative->draft_tokens;
  // The block's rows bound the drafts only where no number is asked for.
  draft.block_size = settings.speculative->block_size;
  if (settings.speculative->method == engine::DraftMethod::Ngram && !draft.num_speculative_tokens) {
    draft.num_speculative_tokens = 5;
  }
  intent.draft = std::move(draft);
  return intent;
}

base::Result<EngineFlags> plan_engine(const std::string& model, EngineFlags flags) {
  plan::CommandLine command;
  command.intent = intent_of(model, flags);
  const PlanInputs inputs = read_plan_inputs(command);
  if (!inputs.facts || !inputs.problems.empty()) return flags;  // opening the checkpoints told what it is
  const auto planned = plan::plan(command.intent, *inputs.facts, {});
  if (!planned.ok()) return refusal_of(planned.error());
  flags.settings.sequence_tokens_max = planned->target.settings.max_model_len;
  engine::EngineSettings& settings = flags.settings;
  const bool counted = settings.speculative && !settings.speculative->block_size && planned->draft;
  if (counted)
    settings.speculative->draft_tokens = static_cast<int>(planned->draft->draft.num_speculative_tokens);
  return flags;
}

}  // namespace outrider::cli
