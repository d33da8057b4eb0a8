// Norms, rotary embedding, activation, residual: fp32 throughout, one row independent of the others.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/executor.h"
#include "tensor/view.h"

namespace outrider::kernels {

// y = x / sqrt(mean(x^2) + epsilon) * weight, row by row; y may be x.
void rms_norm(Executor& executor, tensor::MatrixView<const float> x, std::span<const float> weight,
              float epsilon, tensor::MatrixView<float> y);

// The same for each head of a row (one weight of head_width for all heads), in place, then the rotary
// embedding of the whole head, half-split: channel j pairs with j + head_width / 2. `weight` empty: no norm.
// cos, sin: [positions, head_width / 2].
struct RopeTable {
  tensor::MatrixView<const float> cos, sin;
};
void norm_and_rotate(Executor& executor, tensor::MatrixView<float> x, int heads,
                     std::span<const float> weight, float epsilon, std::span<const std::int64_t> positions,
                     const RopeTable& rope);

// y = silu(gate) * up; gate_up is [rows, 2 * width], gate first.
void silu_multiply(Executor& executor, tensor::MatrixView<const float> gate_up, tensor::MatrixView<float> y);

// x += delta.
void add_rows(Executor& executor, tensor::MatrixView<const float> delta, tensor::MatrixView<float> x);

}  // namespace outrider::kernels
