// Qwen3.5 and 3.6: gated delta layers with full attention every few layers, dense or with experts
// (transformers' qwen3_5 and qwen3_5_moe). The multi-token-prediction layers of the published files are known
// to be there, their tensors are not listed.
#include <array>

#include "checkpoint/families/qwen3.h"
#include "checkpoint/families/readers.h"
#include "checkpoint/shape_parts.h"

namespace outrider::checkpoint {
namespace {

constexpr std::array<std::string_view, 2> kRopeKinds = {"default", "yarn"};
constexpr std::array<std::string_view, 2> kLayerKinds = {"full_attention", "linear_attention"};
constexpr std::array<std::string_view, 1> kActivations = {"silu"};

std::vector<bool> read_full_layers(const ConfigReader& text, int layer_count) {
  std::vector<bool> full(static_cast<std::size_t>(layer_count));
  const auto types = read_layer_types(text, layer_count, kLayerKinds);
  const std::int64_t interval = text.integer_if("full_attention_interval", 1, kLayersMax).value_or(4);
  for (std::size_t i = 0; i < full.size(); ++i) {
    full[i] = types ? (*types)[i] == 0 : (static_cast<std::int64_t>(i) + 1) % interval == 0;
  }
  return full;
}

MlpShape read_mlp(const ConfigReader& text, int layer_count) {
  if (!text.has("num_experts"))
    return DenseMlp{.width = text.integer("intermediate_size", 1, kVocabularyMax)};
  MoeMlp moe{.experts = text.count("num_experts", kExpertsMax),
             .experts_per_token = text.count("num_experts_per_tok", kExpertsMax),
             .expert_width = text.width("moe_intermediate_size"),
             .normalise_weights = text.flag("norm_topk_prob", true)};
  check_chosen_experts(text, "num_experts_per_tok", "num_experts", moe.experts_per_token, moe.experts);
  check_expert_tensors(text, "num_experts", layer_count, moe.experts);
  if (const auto width = text.integer_if("shared_expert_intermediate_size", 1, kWidthMax)) {
    moe.shared = SharedExperts{.count = 1, .width = *width, .gated = true};
  }
  return moe;
}

void list_delta(const GatedDeltaAttention& delta, std::int64_t width, const std::string& prefix,
                TensorLister& lister) {
  const std::int64_t keys = delta.key_heads * delta.key_width;
  const std::int64_t values = delta.value_heads * delta.value_width;
  const int heads = delta.value_heads;
  lister.add(prefix + "in_proj_qkv.weight", {2 * keys + values, width}, Cut::QueryHeads, delta.key_heads);
  lister.add(prefix + "in_proj_z.weight", {values, width}, Cut::QueryHeads, heads);
  lister.add(prefix + "in_proj_b.weight", {heads, width}, Cut::QueryHeads, heads);
  lister.add(prefix + "in_proj_a.weight", {heads, width}, Cut::QueryHeads, heads);
  lister.add(prefix + "conv1d.weight", {2 * keys + values, 1, delta.convolution_taps}, Cut::QueryHeads,
             delta.key_heads);
  lister.add(prefix + "dt_bias", {heads}, Cut::QueryHeads, heads);
  lister.add(prefix + "A_log", {heads}, Cut::QueryHeads, heads);
  lister.add(prefix + "norm.weight", {delta.value_width});
  lister.add(prefix + "out_proj.weight", {width, values}, Cut::Row, heads);
}

void list_experts(const MoeMlp& moe, std::int64_t width, const std::string& prefix, TensorLister& lister) {
  lister.add(prefix + "gate.weight", {moe.experts, width});
  TensorGroup& in = lister.add(prefix + "experts.gate_up_proj", {2 * moe.expert_width, width}, Cut::Expert);
  in.count = moe.experts, in.fused = true;
  TensorGroup& out = lister.add(prefix + "experts.down_proj", {width, moe.expert_width}, Cut::Expert);
  out.count = moe.experts, out.fused = true;
  if (!moe.shared) return;
  list_dense_mlp(moe.shared->width, width, prefix + "shared_expert.", PlainFormat{}, lister);
  lister.add(prefix + "shared_expert_gate.weight", {1, width});
}

}  // namespace

ModelShape read_qwen3_5(const ConfigReader& text, const ConfigReader& outer) {
  ModelShape shape = read_body(text, outer, text.has("num_experts") ? "qwen3_5_moe" : "qwen3_5", kRopeKinds);
  text.choice_if("hidden_act", kActivations);
  const int layer_count = text.count("num_hidden_layers", kLayersMax);
  GroupedAttention full{.heads = text.count("num_attention_heads", kHeadsMax),
                        .kv_heads = text.count("num_key_value_heads", kHeadsMax),
                        .head_width = text.count("head_dim", kWidthMax),
                        .bias = text.flag("attention_bias", false),
                        .qk_norm = true,
                        .output_gate = text.flag("attn_output_gate", true)};
  check_head_counts(text, full.heads, full.kv_heads);
  const GatedDeltaAttention delta{.key_heads = text.count("linear_num_key_heads", kHeadsMax),
                                  .value_heads = text.count("linear_num_value_heads", kHeadsMax),
                                  .key_width = text.width("linear_key_head_dim"),
                                  .value_width = text.width("linear_value_head_dim"),
                                  .convolution_taps = text.integer("linear_conv_kernel_dim", 1, 64)};
  text.require(delta.value_heads % delta.key_heads == 0, "linear_num_value_heads",
               "must be a multiple of linear_num_key_heads = " + std::to_string(delta.key_heads));
  const MlpShape mlp = read_mlp(text, layer_count);
  for (const bool is_full : read_full_layers(text, layer_count)) {
    shape.layers.push_back({.attention = is_full ? AttentionShape(full) : AttentionShape(delta), .mlp = mlp});
  }
  const std::int64_t stages = text.integer_if("mtp_num_hidden_layers", 0, kLayersMax).value_or(0);
  if (stages > 0) shape.inside_drafter = SerialMtp{.stages = static_cast<int>(stages)};
  return shape;
}

void list_qwen3_5_tensors(const ModelShape& shape, TensorLister& lister) {
  const std::string root = "model.language_model.";
  const std::int64_t width = shape.hidden_width;
  lister.at(Place::FirstStage);
  lister.add(root + "embed_tokens.weight", {shape.vocabulary, width}, Cut::Vocabulary);
  for (std::size_t i = 0; i < shape.layers.size(); ++i) {
    const std::string prefix = root + "layers." + std::to_string(i) + ".";
    const LayerShape& layer = shape.layers[i];
    lister.at_layer(static_cast<int>(i));
    lister.add(prefix + "input_layernorm.weight", {width});
    if (const auto* delta = std::get_if<GatedDeltaAttention>(&layer.attention)) {
      list_delta(*delta, width, prefix + "linear_attn.", lister);
    } else {
      list_grouped_attention(std::get<GroupedAttention>(layer.attention), width, prefix + "self_attn.",
                             PlainFormat{}, lister, width);
    }
    lister.add(prefix + "post_attention_layernorm.weight", {width});
    if (const auto* moe = std::get_if<MoeMlp>(&layer.mlp)) {
      list_experts(*moe, width, prefix + "mlp.", lister);
    } else {
      list_dense_mlp(std::get<DenseMlp>(layer.mlp).width, width, prefix + "mlp.", PlainFormat{}, lister);
    }
  }
  lister.at(Place::LastStage);
  lister.add(root + "norm.weight", {width});
  TensorGroup& head = lister.add("lm_head.weight", {shape.vocabulary, width}, Cut::Vocabulary);
  head.optional = head.alias = shape.tied_head;
}

}  // namespace outrider::checkpoint
