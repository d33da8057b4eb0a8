// How much arithmetic a pass is, from the shape alone: a multiply and an add are two operations.
#pragma once

#include <cstdint>

#include "checkpoint/model_shape.h"

namespace outrider::bench {

// Operations of all layers' matrices for one row (chosen experts and the router included, head left out).
double layer_operations(const checkpoint::ModelShape& shape);
// Operations of attention for rows at positions 0 .. count - 1 of one sequence: queries times keys, and
// probabilities times values.
double attention_operations(const checkpoint::ModelShape& shape, std::int64_t count);

// What one expert of the model's first mixture holds, and in how many layers one stands; 0 without any.
struct MoeCounts {
  int layers = 0;
  int experts = 0, experts_per_token = 0;
};
MoeCounts count_moe(const checkpoint::ModelShape& shape);

}  // namespace outrider::bench
