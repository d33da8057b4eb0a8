// Keys and values of loader settings, which vLLM judges when it loads. Rules CLI and JSON.
#pragma once

#include <vector>

#include "plan/plan.h"

namespace outrider::plan {

void check_loader_keys(const Intent& intent, std::vector<Problem>& problems);

}  // namespace outrider::plan
