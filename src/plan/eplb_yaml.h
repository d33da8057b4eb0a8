// TensorRT-LLM's balancing file (YAML; examples/wide_ep/ep_load_balancer) as a value: num_slots,
// layer_updates_per_iter, initial_global_assignments (layer -> expert in each slot). Strict: duplicate and
// unknown keys, values of another kind and broken text are problems of rule YAML. A map that is there but
// empty is kept as such; null means absent. Whether the numbers fit a model is for the rules (D5, D17).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace outrider::plan {

inline constexpr std::size_t kEplbFileBytesMax = std::size_t{64} << 20;

EplbFile parse_eplb_yaml(const std::string& text, std::vector<Problem>& problems);

}  // namespace outrider::plan
