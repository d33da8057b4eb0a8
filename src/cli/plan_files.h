// What `outrider plan` reads: config.json of both roles, the index of a checkpoint for its tensor names, a
// balancing file. No weights. Everything that is wrong becomes a problem of the plan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/command_line.h"

namespace outrider::cli {

struct PlanInputs {
  std::optional<plan::ModelsFacts> facts;  // absent: the target's config cannot be read
  std::vector<plan::Problem> problems;
};

// Also completes the intent with the balancing file that the command line named.
PlanInputs read_plan_inputs(plan::CommandLine& command);

}  // namespace outrider::cli
