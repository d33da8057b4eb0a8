// Rules of vLLM's about flags that have no part in a plan, judged while the command line is read: P3, P6,
// P19, P22, P24, X9, X14. Every one is told; none needs a model.
#pragma once

#include <vector>

#include "base/flags.h"
#include "plan/plan.h"

namespace outrider::plan {

void check_flag_pairs(const base::FlagValues& values, const Intent& intent, std::vector<Problem>& problems);

}  // namespace outrider::plan
