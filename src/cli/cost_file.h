// What steps cost here, for the scheduler: read from a file that the user names, from a small file kept per
// machine and shape, or measured in under two seconds and then kept.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "engine/engine.h"
#include "schedule/cost_curve.h"

namespace outrider::cli {

// `file` (--cost-curve) must be readable and right; the kept file is a cache: one that is not is measured
// anew.
base::Result<schedule::StepCosts> load_costs(engine::Engine& engine, const std::optional<std::string>& file);

}  // namespace outrider::cli
