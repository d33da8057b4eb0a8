// Token embedding: rows of a packed matrix, widened. A tied head multiplies with the same matrix.
#pragma once

#include <span>

#include "base/ids.h"
#include "kernels/linear.h"

namespace outrider::model {

// x[r] = row tokens[r] of `table`. Tokens were checked to lie in the vocabulary.
void embed(kernels::Executor& executor, const kernels::PackedMatrix& table,
           std::span<const base::TokenId> tokens, tensor::MatrixView<float> x);

}  // namespace outrider::model
