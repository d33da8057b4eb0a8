// Threads and kernels of a process: a part of every plan that runs, and all that a command without a model
// needs (`bench --only machine`, `quantize`).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"

namespace outrider::plan {

struct ProcessSettings {
  std::int64_t num_threads;
  std::string kernel_target;
};
// `machine` tells its cores and kernels.
base::Result<ProcessSettings, PlanRefusal> plan_process(const Intent& intent, const Machine& machine);

// What rule R3 says of it.
std::vector<Problem> process_problems(const AskedTarget& asked, const Machine& machine);
// As asked, else as the machine has it; absent where neither says.
std::optional<std::int64_t> derive_threads(const AskedTarget& asked, const Machine& machine);
std::optional<std::string> derive_kernel_target(const AskedTarget& asked, const Machine& machine);

}  // namespace outrider::plan
