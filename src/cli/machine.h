// The machine that this process runs on, as a planner sees it.
#pragma once

#include "plan/machine.h"

namespace outrider::cli {

// Memory: what the system says is available, and no more than the process's control group may have.
plan::Machine this_machine();

}  // namespace outrider::cli
