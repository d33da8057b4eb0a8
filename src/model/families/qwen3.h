// Qwen3, dense and mixture of experts (as transformers' qwen3 and qwen3_moe): pre-norm layers of
// grouped-query attention with per-head q and k norms, full rotary embedding, SwiGLU.
#pragma once

#include <memory>

#include "model/families.h"

namespace outrider::model {

base::Result<std::unique_ptr<Model>> load_qwen3(kernels::Executor& executor,
                                                const checkpoint::ModelShape& shape,
                                                const checkpoint::TensorSource& source,
                                                const ModelOptions& options);

}  // namespace outrider::model
