// Kimi-K3: Kimi delta layers with unrotated latent attention every few layers, experts in a narrower space,
// and residuals that mix earlier blocks (published config kimi_k3 with a nested kimi_linear).
#include <algorithm>
#include <array>
#include <bit>

#include "checkpoint/families/qwen3.h"
#include "checkpoint/families/readers.h"
#include "checkpoint/shape_parts.h"

namespace outrider::checkpoint {
namespace {

constexpr std::array<std::string_view, 2> kRopeKinds = {"default", "yarn"};

// Layers of the lists count from 1.
std::vector<bool> read_full_layers(const ConfigReader& text, const ConfigReader& linear, int layer_count) {
  std::vector<bool> full(static_cast<std::size_t>(layer_count));
  std::vector<int> times(full.size());
  for (const char* key : {"full_attn_layers", "kda_layers"}) {
    for (const int layer : linear.integers_if(key, 1, layer_count).value_or(std::vector<int>{})) {
      const auto i = static_cast<std::size_t>(layer - 1);
      ++times[i];
      if (std::string_view(key) == "full_attn_layers") full[i] = true;
    }
  }
  const bool once = std::all_of(times.begin(), times.end(), [](int n) { return n == 1; });
  text.require(once, "linear_attn_config",
               "full_attn_layers and kda_layers must name each of the " + std::to_string(layer_count) +
                   " layers once, counted from 1");
  return full;
}

MoeMlp read_moe(const ConfigReader& text, int layer_count) {
  MoeMlp moe{.experts = text.count("num_experts", kExpertsMax),
             .experts_per_token = text.count("num_experts_per_token", kExpertsMax),
             .expert_width = text.width("moe_intermediate_size"),
             .normalise_weights = text.flag("moe_renormalize", true),
             .selection_bias = true};
  check_chosen_experts(text, "num_experts_per_token", "num_experts", moe.experts_per_token, moe.experts);
  check_expert_tensors(text, "num_experts", layer_count, moe.experts);
  const int shared = static_cast<int>(text.integer_if("num_shared_experts", 0, kExpertsMax).value_or(0));
  if (shared > 0) moe.shared = SharedExperts{.count = shared, .width = shared * moe.expert_width};
  const int groups = static_cast<int>(text.integer_if("num_expert_group", 1, kExpertsMax).value_or(1));
  const int kept = static_cast<int>(text.integer_if("topk_group", 1, kExpertsMax).value_or(1));
  if (groups > 1) moe.groups = ExpertGroups{.groups = groups, .kept = kept};
  if (const auto width = text.integer_if("routed_expert_hidden_size", 1, kWidthMax)) {
    moe.latent = LatentExperts{.width = *width, .norm = text.flag("latent_moe_use_norm", false)};
  }
  return moe;
}

void list_kda(const KimiDeltaAttention& kda, std::int64_t width, const std::string& prefix,
              TensorLister& lister) {
  const std::int64_t inner = kda.heads * kda.head_width;
  const int heads = kda.heads;
  for (const char* name : {"q", "k", "v"}) {
    lister.add(prefix + name + "_proj.weight", {inner, width}, Cut::QueryHeads, heads);
    lister.add_typed(prefix + name + "_conv1d.weight", tensor::Dtype::F32, {inner, 1, kda.convolution_taps},
                     Cut::QueryHeads, heads);
  }
  // Published with the heads padded to a power of two (96 -> 128), and so not cut by heads.
  const auto padded = static_cast<std::int64_t>(std::bit_ceil(static_cast<unsigned>(heads)));
  lister.add_typed(prefix + "A_log", tensor::Dtype::F32, {padded});
  lister.add_typed(prefix + "dt_bias", tensor::Dtype::F32, {inner}, Cut::QueryHeads, heads);
  lister.add(prefix + "f_a_proj.weight", {kda.head_width, width});
  lister.add(prefix + "f_b_proj.weight", {inner, kda.head_width}, Cut::QueryHeads, heads);
  lister.add(prefix + "b_proj.weight", {heads, width}, Cut::QueryHeads, heads);
  lister.add(prefix + "g_proj.weight", {inner, width}, Cut::QueryHeads, heads);
  lister.add_typed(prefix + "o_norm.weight", tensor::Dtype::F32, {kda.head_width});
  lister.add(prefix + "o_proj.weight", {width, inner}, Cut::Row, heads);
}

void list_moe(const MoeMlp& moe, std::int64_t width, const std::string& prefix, const LinearFormat& format,
              TensorLister& lister) {
  lister.add(prefix + "gate.weight", {moe.experts, width});
  lister.add_typed(prefix + "gate.e_score_correction_bias", tensor::Dtype::F32, {moe.experts});
  const std::int64_t inner = moe.latent ? moe.latent->width : width;
  if (moe.latent) {
    lister.add(prefix + "routed_expert_down_proj.weight", {inner, width});
    if (moe.latent->norm) lister.add(prefix + "routed_expert_norm.weight", {inner});
    lister.add(prefix + "routed_expert_up_proj.weight", {width, inner});
  }
  const LinearNames names{.weight = ".weight_packed", .scale = ".weight_scale"};
  lister.linear(prefix + "experts.{}.w1", moe.expert_width, inner, Cut::Expert, 1, format, names,
                moe.experts);
  lister.linear(prefix + "experts.{}.w3", moe.expert_width, inner, Cut::Expert, 1, format, names,
                moe.experts);
  lister.linear(prefix + "experts.{}.w2", inner, moe.expert_width, Cut::Expert, 1, format, names,
                moe.experts);
  if (moe.shared) list_dense_mlp(moe.shared->width, width, prefix + "shared_experts.", PlainFormat{}, lister);
}

void list_layer(const ModelShape& shape, const LayerShape& layer, const std::string& prefix,
                TensorLister& lister) {
  const std::int64_t width = shape.hidden_width;
  lister.add(prefix + "input_layernorm.weight", {width});
  lister.add(prefix + "post_attention_layernorm.weight", {width});
  if (shape.attention_residuals) {
    for (const char* branch : {"self_attention_res", "mlp_res"}) {
      lister.add(prefix + branch + "_norm.weight", {width});
      lister.add(prefix + branch + "_proj.weight", {1, width});
    }
  }
  if (const auto* kda = std::get_if<KimiDeltaAttention>(&layer.attention)) {
    list_kda(*kda, width, prefix + "self_attn.", lister);
  } else {
    list_latent_attention(std::get<LatentAttention>(layer.attention), width, prefix + "self_attn.",
                          PlainFormat{}, lister);
  }
  if (const auto* moe = std::get_if<MoeMlp>(&layer.mlp)) {
    list_moe(*moe, width, prefix + "block_sparse_moe.",
             shape.quantisation ? shape.quantisation->experts : LinearFormat{}, lister);
  } else {
    list_dense_mlp(std::get<DenseMlp>(layer.mlp).width, width, prefix + "mlp.", PlainFormat{}, lister);
  }
}

}  // namespace

ModelShape read_kimi_k3(const ConfigReader& text, const ConfigReader& outer) {
  // Nothing is rotated where mla_use_nope says so: then there is no rope_theta.
  const bool rotated = !text.flag("mla_use_nope", false);
  ModelShape shape = read_body(text, outer, "kimi_k3", kRopeKinds);
  const int layer_count = text.count("num_hidden_layers", kLayersMax);
  LatentAttention latent = read_latent_attention(text);
  latent.output_gate = text.flag("mla_use_output_gate", false);
  latent.rotary = rotated;
  const std::optional<ConfigReader> linear = text.object_if("linear_attn_config");
  if (!linear) {
    if (!text.has("linear_attn_config")) text.report("linear_attn_config", "is missing and required");
    return shape;
  }
  const KimiDeltaAttention kda{.heads = linear->count("num_heads", kHeadsMax),
                               .head_width = linear->width("head_dim"),
                               .convolution_taps = linear->integer("short_conv_kernel_size", 1, 64)};
  linear->require(linear->flag("use_full_rank_gate", true), "use_full_rank_gate",
                  "must be true: no other gate is read");
  const MoeMlp moe = read_moe(text, layer_count);
  const int dense_first =
      static_cast<int>(text.integer_if("first_k_dense_replace", 0, layer_count).value_or(0));
  const DenseMlp mlp{.width = text.integer("intermediate_size", 1, kVocabularyMax)};
  const std::vector<bool> full = read_full_layers(text, *linear, layer_count);
  for (int i = 0; i < layer_count; ++i) {
    shape.layers.push_back(
        {.attention = full[static_cast<std::size_t>(i)] ? AttentionShape(latent) : AttentionShape(kda),
         .mlp = i < dense_first ? MlpShape(mlp) : MlpShape(moe)});
  }
  if (const auto block = text.integer_if("attn_res_block_size", 1, kLayersMax)) {
    shape.attention_residuals = AttentionResiduals{.block_layers = static_cast<int>(*block)};
  }
  return shape;
}

void list_kimi_k3_tensors(const ModelShape& shape, TensorLister& lister) {
  const std::string root = "language_model.model.";
  lister.at(Place::FirstStage);
  lister.add(root + "embed_tokens.weight", {shape.vocabulary, shape.hidden_width}, Cut::Vocabulary);
  for (std::size_t i = 0; i < shape.layers.size(); ++i) {
    lister.at_layer(static_cast<int>(i));
    list_layer(shape, shape.layers[i], root + "layers." + std::to_string(i) + ".", lister);
  }
  lister.at(Place::LastStage);
  if (shape.attention_residuals) {
    lister.add(root + "output_attn_res_norm.weight", {shape.hidden_width});
    lister.add(root + "output_attn_res_proj.weight", {1, shape.hidden_width});
  }
  lister.add(root + "norm.weight", {shape.hidden_width});
  lister.add("language_model.lm_head.weight", {shape.vocabulary, shape.hidden_width}, Cut::Vocabulary);
}

}  // namespace outrider::checkpoint
