// Mixture of experts: routing and the grouped products. Rows are grouped by expert, each chosen expert's
// weights are read once.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/linear.h"

namespace outrider::kernels {

// Softmax over all experts in fp32, then the k largest (ties to the lowest id), divided by their sum iff
// `normalise`. logits [rows, experts]; ids and weights [rows, k], by falling probability.
void route_softmax_topk(Executor& executor, tensor::MatrixView<const float> logits, int k, bool normalise,
                        tensor::MatrixView<std::int32_t> ids, tensor::MatrixView<float> weights);

struct ExpertWeights {
  PackedMatrix gate_up;  // [2 * width, hidden]: gate rows, then up rows
  PackedMatrix down;     // [hidden, width]
};

// y[r] = sum over r's experts e, in ascending id, of weight * down_e(silu(gate_e x_r) * up_e x_r). y is
// overwritten.
void moe_mlp(Executor& executor, tensor::MatrixView<const float> x, std::span<const ExpertWeights> experts,
             tensor::MatrixView<const std::int32_t> ids, tensor::MatrixView<const float> weights,
             tensor::MatrixView<float> y);

}  // namespace outrider::kernels
