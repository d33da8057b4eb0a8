// What every command that runs a model starts from: the words of its flags as an intent, the checkpoints, and
// the plan that plan::plan makes of both. Nothing else derives or repairs what was asked.
#pragma once

#include <optional>
#include <string>

#include "base/inspector.h"
#include "base/result.h"
#include "checkpoint/open_model.h"
#include "plan/command_line.h"

namespace outrider::cli {

// A planner's problem as the user of a command's flags knows it: "target.max_model_len" is --max-model-len, a
// setting of the drafter a key of --speculative-config.
base::Problem typed(const plan::Problem& problem);

// Both checkpoints, opened and checked (no weights were read), and what a planner knows of them.
struct Files {
  plan::ModelsFacts facts;
  checkpoint::OpenedModel target;
  std::optional<checkpoint::OpenedDrafter> drafter;
};

// A refusal has what is wrong with the files, and what the rules say of the rest.
base::Result<Files> open_files(plan::CommandLine command);

// Words were wrong: what the rules say of the rest, so that one run tells all. Opens no weights.
void judge_rest(const plan::CommandLine& command, base::Inspector& inspector);

// The plan, for this machine; or every problem.
base::Result<plan::Plan> plan_run(const plan::Intent& intent, const plan::ModelsFacts& facts);

checkpoint::LoadFormat load_format_of(const plan::Intent& intent);
// A warning while a checkpoint is opened: to stderr.
void print_warning(const std::string& text);

}  // namespace outrider::cli
