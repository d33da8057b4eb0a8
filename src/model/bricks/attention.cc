#include "model/bricks/attention.h"

#include <cmath>

namespace outrider::model {

AttentionWeights load_attention(WeightLoader& loader, const std::string& prefix,
                                const checkpoint::GroupedAttention& shape, double epsilon) {
  const std::string attention = prefix + "self_attn.";
  AttentionWeights weights{.shape = shape, .epsilon = static_cast<float>(epsilon)};
  weights.input_norm = loader.vector({prefix + "input_layernorm.weight"});
  weights.query = loader.matrix({attention + "q_proj.weight"}, MatrixUse::Layer);
  weights.key_value =
      loader.matrix({attention + "k_proj.weight", attention + "v_proj.weight"}, MatrixUse::Layer);
  weights.output = loader.matrix({attention + "o_proj.weight"}, MatrixUse::Layer);
  if (shape.bias) {
    weights.query_bias = loader.vector({attention + "q_proj.bias"});
    weights.key_value_bias = loader.vector({attention + "k_proj.bias", attention + "v_proj.bias"});
    weights.output_bias = loader.vector({attention + "o_proj.bias"});
  }
  if (shape.qk_norm) {
    weights.query_norm = loader.vector({attention + "q_norm.weight"});
    weights.key_norm = loader.vector({attention + "k_norm.weight"});
  }
  return weights;
}

void store_context(kernels::Executor& executor, Workspace& workspace, const AttentionWeights& weights,
                   const kernels::RopeTable& rope, std::span<const std::int64_t> positions,
                   std::span<const kernels::KvRow> stored, const kernels::KvLayer& layer,
                   tensor::MatrixView<const float> context) {
  const std::int64_t width = std::int64_t{weights.shape.kv_heads} * weights.shape.head_width;
  const auto key_value = workspace.matrix(Slot::KeyValue, context.rows, 2 * width);
  kernels::linear(executor, context, weights.key_value, weights.key_value_bias, key_value);
  const auto keys = key_value.column_range(0, width);
  kernels::norm_and_rotate(executor, keys, weights.shape.kv_heads, weights.key_norm, weights.epsilon,
                           positions, rope);
  kernels::store_kv(executor, stored, keys, key_value.column_range(width, width), layer);
}

void run_attention(kernels::Executor& executor, Workspace& workspace, const AttentionWeights& weights,
                   const kernels::RopeTable& rope, const AttentionRows& rows, const kernels::KvLayer& layer,
                   tensor::MatrixView<float> x) {
  const std::int64_t width = std::int64_t{weights.shape.heads} * weights.shape.head_width;
  const auto normed = workspace.matrix(Slot::Normed, x.rows, x.columns);
  kernels::rms_norm(executor, x, weights.input_norm, weights.epsilon, normed);
  const auto query = workspace.matrix(Slot::Query, x.rows, width);
  kernels::linear(executor, normed, weights.query, weights.query_bias, query);
  kernels::norm_and_rotate(executor, query, weights.shape.heads, weights.query_norm, weights.epsilon,
                           rows.positions, rope);
  store_context(executor, workspace, weights, rope, rows.positions, rows.stored, layer, normed);
  const auto attended = workspace.matrix(Slot::Attended, x.rows, width);
  const float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(weights.shape.head_width)));
  kernels::attend(executor, query, weights.shape.heads, rows.seen, layer, scale, attended);
  const auto delta = workspace.matrix(Slot::Delta, x.rows, x.columns);
  kernels::linear(executor, attended, weights.output, weights.output_bias, delta);
  kernels::add_rows(executor, delta, x);
}

}  // namespace outrider::model
