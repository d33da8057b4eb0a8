// ModelShape: what a model is made of, as sums of bricks. Layers need not be alike; there is no "0 means off". Hugging Face key names
// stop at the config readers of this folder, which produce these values. Widths are channels, counts are how many.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tensor/dtype.h"

namespace outrider::checkpoint {

// --- rotary embedding ---
struct PlainRope {
  friend bool operator==(const PlainRope&, const PlainRope&) = default;
};
struct YarnRope {  // arXiv 2309.00071, as transformers computes it
  double factor;
  std::int64_t original_positions;
  double beta_fast = 32, beta_slow = 1;
  double attention_factor;  // multiplies cos and sin
  friend bool operator==(const YarnRope&, const YarnRope&) = default;
};
struct RopeShape {
  double theta;
  std::variant<PlainRope, YarnRope> scaling;
  friend bool operator==(const RopeShape&, const RopeShape&) = default;
};

// --- attention ---
// Grouped-query attention (Qwen3, Llama, gpt-oss, Gemma). Later kinds (latent, compressed, linear) are further alternatives of AttentionShape.
struct GroupedAttention {
  int heads;
  int kv_heads;
  int head_width;
  bool bias = false;     // q, k, v and o projections have one
  bool qk_norm = true;   // per head, before the rotation
  std::optional<std::int64_t> window;  // position t sees t - window + 1 .. t; absent: everything
  friend bool operator==(const GroupedAttention&, const GroupedAttention&) = default;
};
using AttentionShape = std::variant<GroupedAttention>;

// --- feed-forward ---
struct DenseMlp {
  std::int64_t width;
  friend bool operator==(const DenseMlp&, const DenseMlp&) = default;
};
struct MoeMlp {
  int experts;
  int experts_per_token;
  std::int64_t expert_width;
  bool normalise_weights;  // divide the chosen probabilities by their sum
  friend bool operator==(const MoeMlp&, const MoeMlp&) = default;
};
using MlpShape = std::variant<DenseMlp, MoeMlp>;

struct LayerShape {
  AttentionShape attention;
  MlpShape mlp;
  friend bool operator==(const LayerShape&, const LayerShape&) = default;
};

struct ModelShape {
  std::string family;  // "qwen3", "qwen3_moe": a row of model/families
  std::int64_t hidden_width;
  std::int64_t vocabulary;
  std::int64_t positions_max;
  double norm_epsilon;
  bool tied_head;
  RopeShape rope;
  tensor::Dtype weight_dtype;  // as the config says; tensors may differ
  std::vector<LayerShape> layers;
  std::vector<std::int32_t> end_token_ids;  // eos_token_id of config.json; generation_config.json may add more
  friend bool operator==(const ModelShape&, const ModelShape&) = default;
};

}  // namespace outrider::checkpoint
