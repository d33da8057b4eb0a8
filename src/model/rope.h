// Rotary tables: cos and sin of position x frequency, for a whole head (half-split), plain or YaRN.
#pragma once

#include "checkpoint/model_shape.h"
#include "kernels/elementwise.h"
#include "tensor/buffer.h"

namespace outrider::model {

class RopeTables {
 public:
  RopeTables() = default;
  // Positions 0 .. position_count - 1.
  RopeTables(const checkpoint::RopeShape& shape, int head_width, std::int64_t position_count);
  kernels::RopeTable view() const { return {cos_.view(), sin_.view()}; }

 private:
  tensor::Matrix cos_, sin_;  // [positions, head_width / 2]
};

// Channel frequencies (head_width / 2 of them). YaRN (arXiv 2309.00071, as transformers computes it):
// interpolated below the ramp, plain above it.
std::vector<double> rope_frequencies(const checkpoint::RopeShape& shape, int head_width);

}  // namespace outrider::model
