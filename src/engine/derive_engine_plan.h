// From a plan to what runs: names become types, shapes get their caches. No choice is made here and nothing
// is repaired: every value was decided, and judged, by plan::plan.
#pragma once

#include <optional>

#include "checkpoint/drafter_shape.h"
#include "checkpoint/model_shape.h"
#include "engine/engine_plan.h"
#include "plan/plan.h"

namespace outrider::engine {

// `plan`: for one rank, under our own rules, for a command that runs it on a known machine. The shapes are
// those of the checkpoints that it was made for; `drafter`: where its method has one.
EnginePlan derive_engine_plan(const plan::Plan& plan, const checkpoint::ModelShape& shape,
                              const std::optional<checkpoint::DrafterShape>& drafter);

// The kernels of a plan's name; a plan for a known machine has one that it can run.
kernels::Target kernel_target_of(const std::string& name);

}  // namespace outrider::engine
