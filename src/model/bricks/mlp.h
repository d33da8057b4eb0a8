// Feed-forward bricks with their norm and residual: dense SwiGLU, and a mixture of such experts.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "checkpoint/model_shape.h"
#include "kernels/elementwise.h"
#include "kernels/moe.h"
#include "model/model.h"
#include "model/weights.h"
#include "model/workspace.h"

namespace outrider::model {

struct DenseMlpWeights {
  kernels::PackedMatrix gate_up, down;  // [2 * width, hidden], [hidden, width]
};
struct MoeMlpWeights {
  checkpoint::MoeMlp shape;
  kernels::PackedMatrix router;  // [experts, hidden]
  std::vector<kernels::ExpertWeights> experts;
};
struct MlpWeights {
  float epsilon;
  std::vector<float> norm;  // [hidden]
  std::variant<DenseMlpWeights, MoeMlpWeights> kind;
};

// Tensors `prefix` + "post_attention_layernorm.weight", "mlp.gate_proj.weight" or
// "mlp.experts.0.gate_proj.weight", ...
MlpWeights load_mlp(WeightLoader& loader, const std::string& prefix, const checkpoint::MlpShape& shape,
                    double epsilon);

// x += mlp(norm(x)). `observer` may be null; `layer` is what it is told.
void run_mlp(kernels::Executor& executor, Workspace& workspace, const MlpWeights& weights,
             tensor::MatrixView<float> x, int layer, RoutingObserver* observer);

// Bytes of all matrices, and of those that one row reads.
std::int64_t mlp_bytes(const MlpWeights& weights);
std::int64_t mlp_bytes_per_row(const MlpWeights& weights);

}  // namespace outrider::model
