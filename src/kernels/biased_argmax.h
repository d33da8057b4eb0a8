// argmax(base + W x) that reads only those panels of W whose outputs can still win: the step of a sequential
// drafting head, where `base` are logits that stand already and W x is a bias of low rank (DSpark, arXiv
// 2607.05147). Exact: an output is passed over only where base + |W_v| |x|, which nothing that the product
// computes can pass (Cauchy and Schwarz, with room for the rounding of x and of the sum), is below a value
// that another output reaches.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/linear.h"

namespace outrider::kernels {

// The length of every output's weights as they are held, never rounded down: once a matrix.
std::vector<float> derive_output_lengths(Executor& executor, const PackedMatrix& weights);

// index[r], value[r]: the largest of base[r, v] + (W x[r])[v], lowest index on ties, equal to what linear(),
// add_rows() and an argmax give. x [rows, inputs], base [rows, outputs]. False: nothing is decided and the
// product is the way, as a number is not finite or the bounds exclude too little.
bool biased_argmax(Executor& executor, tensor::MatrixView<const float> x, const PackedMatrix& weights,
                   std::span<const float> lengths, tensor::MatrixView<const float> base,
                   std::span<std::int32_t> index, std::span<float> value);

}  // namespace outrider::kernels
