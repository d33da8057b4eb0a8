// Grouped-query attention with its norm and residual: the part that Qwen3-like targets and block drafters
// share.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "checkpoint/model_shape.h"
#include "kernels/attention.h"
#include "kernels/elementwise.h"
#include "kernels/linear.h"
#include "model/weights.h"
#include "model/workspace.h"

namespace outrider::model {

struct AttentionWeights {
  checkpoint::GroupedAttention shape;
  float epsilon;
  std::vector<float> input_norm = {};    // [hidden]
  kernels::PackedMatrix query = {};      // [heads * w, hidden]
  kernels::PackedMatrix key_value = {};  // [2 * kv_heads * w, hidden]: keys, then values
  kernels::PackedMatrix output = {};     // [hidden, heads * w]
  std::vector<float> query_bias = {}, key_value_bias = {}, output_bias = {};  // empty without biases
  std::vector<float> query_norm = {}, key_norm = {};                          // [w], empty without
};

// Tensors `prefix` + "input_layernorm.weight", "self_attn.q_proj.weight", ...
AttentionWeights load_attention(WeightLoader& loader, const std::string& prefix,
                                const checkpoint::GroupedAttention& shape, double epsilon);

// Where the rows stand and what each sees.
struct AttentionRows {
  std::span<const std::int64_t> positions;
  std::span<const kernels::KvRow> stored;
  std::span<const kernels::AttentionRow> seen;
};

// x += output(attention(norm(x))); the rows' keys and values are stored first.
void run_attention(kernels::Executor& executor, Workspace& workspace, const AttentionWeights& weights,
                   const kernels::RopeTable& rope, const AttentionRows& rows, const kernels::KvLayer& layer,
                   tensor::MatrixView<float> x);

// Stores keys and values of rows that are normed already, and runs no query: a drafter's context (dspark:
// context rows get no input norm).
void store_context(kernels::Executor& executor, Workspace& workspace, const AttentionWeights& weights,
                   const kernels::RopeTable& rope, std::span<const std::int64_t> positions,
                   std::span<const kernels::KvRow> stored, const kernels::KvLayer& layer,
                   tensor::MatrixView<const float> context);

}  // namespace outrider::model
