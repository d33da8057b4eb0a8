// Gemma 4: sliding and global layers with other heads, keys that are values, a dense MLP beside experts, and
// in the small models inputs per layer and layers that read earlier rows (transformers' gemma4 and
// gemma4_unified).
#include <array>

#include "checkpoint/families/qwen3.h"
#include "checkpoint/families/readers.h"
#include "checkpoint/shape_parts.h"

namespace outrider::checkpoint {
namespace {

constexpr std::array<std::string_view, 2> kLayerKinds = {"full_attention", "sliding_attention"};
constexpr std::array<std::string_view, 3> kRopeKinds = {"default", "proportional", "yarn"};

// rope_parameters holds one object per kind of layer.
RopeShape read_kind_rope(const ConfigReader& text, std::string_view kind, std::int64_t positions_max) {
  const std::optional<ConfigReader> all = text.object_if("rope_parameters");
  const std::optional<ConfigReader> settings = all ? all->object_if(kind) : std::nullopt;
  if (settings) return read_rope_object(*settings, std::nullopt, positions_max, kRopeKinds);
  if (!text.sizes_only() && !text.has("rope_parameters"))
    text.report("rope_parameters", "is missing and required");
  return {.theta = 1, .scaling = PlainRope{}};
}

ModelShape read_gemma_body(const ConfigReader& text, const ConfigReader& outer) {
  ModelShape shape{
      .family = "gemma4",
      .hidden_width = text.width("hidden_size"),
      .vocabulary = text.integer("vocab_size", 1, kVocabularyMax),
      .positions_max = read_positions(text),
      .norm_epsilon = text.positive_number("rms_norm_eps", 1e-6),
      .tied_head = text.flag("tie_word_embeddings", outer.flag("tie_word_embeddings", true)),
      .rope = {.theta = 1, .scaling = PlainRope{}},
      .weight_dtype = read_dtype(text, outer),
      .layers = {},
      .end_token_ids = {},
  };
  shape.rope = read_kind_rope(text, "full_attention", shape.positions_max);
  shape.end_token_ids = read_end_tokens(text, shape.vocabulary);
  shape.quantisation = read_quantisation(text, outer);
  if (text.find("hidden_size_per_layer_input") != nullptr) {
    const std::int64_t width = text.integer("hidden_size_per_layer_input", 0, kWidthMax);
    if (width > 0) {
      shape.per_layer_inputs = PerLayerInputs{
          .width = width, .vocabulary = text.integer("vocab_size_per_layer_input", 1, kVocabularyMax)};
    }
  }
  return shape;
}

GroupedAttention read_sliding_attention(const ConfigReader& text) {
  GroupedAttention attention{.heads = text.count("num_attention_heads", kHeadsMax),
                             .kv_heads = text.count("num_key_value_heads", kHeadsMax),
                             .head_width = text.count("head_dim", kWidthMax),
                             .bias = text.flag("attention_bias", false),
                             .qk_norm = true,
                             .window = text.integer("sliding_window", 1, kPositionsMax)};
  check_head_counts(text, attention.heads, attention.kv_heads);
  return attention;
}

// Global layers have a head width of their own; with "attention_k_eq_v" also other key heads and no values.
GroupedAttention read_global_attention(const ConfigReader& text, GroupedAttention attention) {
  attention.window.reset();
  attention.values_are_keys = text.flag("attention_k_eq_v", false);
  if (const auto width = text.integer_if("global_head_dim", 1, kWidthMax)) {
    attention.head_width = static_cast<int>(*width);
  }
  const auto kv_heads = text.integer_if("num_global_key_value_heads", 1, kHeadsMax);
  if (attention.values_are_keys && kv_heads) attention.kv_heads = static_cast<int>(*kv_heads);
  check_head_counts(text, attention.heads, attention.kv_heads);
  return attention;
}

std::optional<MoeMlp> read_experts(const ConfigReader& text, int layer_count) {
  if (!text.flag("enable_moe_block", false)) return std::nullopt;
  const MoeMlp moe{.experts = text.count("num_experts", kExpertsMax),
                   .experts_per_token = text.count("top_k_experts", kExpertsMax),
                   .expert_width = text.width("moe_intermediate_size"),
                   .normalise_weights = true};
  check_chosen_experts(text, "top_k_experts", "num_experts", moe.experts_per_token, moe.experts);
  check_expert_tensors(text, "num_experts", layer_count, moe.experts);
  return moe;
}

void list_layer(const ModelShape& shape, const LayerShape& layer, const std::string& prefix,
                TensorLister& lister) {
  const std::int64_t width = shape.hidden_width;
  for (const char* norm : {"input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
                           "post_feedforward_layernorm"}) {
    lister.add(prefix + norm + ".weight", {width});
  }
  lister.add(prefix + "layer_scalar", {1});
  list_grouped_attention(std::get<GroupedAttention>(layer.attention), width, prefix + "self_attn.",
                         PlainFormat{}, lister, width);
  const auto* both = std::get_if<DenseBesideMoe>(&layer.mlp);
  const DenseMlp& dense = both != nullptr ? both->dense : std::get<DenseMlp>(layer.mlp);
  list_dense_mlp(dense.width, width, prefix + "mlp.", PlainFormat{}, lister);
  if (shape.per_layer_inputs) {
    lister.add(prefix + "per_layer_input_gate.weight", {shape.per_layer_inputs->width, width});
    lister.add(prefix + "per_layer_projection.weight", {width, shape.per_layer_inputs->width});
    lister.add(prefix + "post_per_layer_input_norm.weight", {width});
  }
  if (both == nullptr) return;
  const MoeMlp& moe = both->moe;
  for (const char* norm :
       {"post_feedforward_layernorm_1", "post_feedforward_layernorm_2", "pre_feedforward_layernorm_2"}) {
    lister.add(prefix + norm + ".weight", {width});
  }
  lister.add(prefix + "router.proj.weight", {moe.experts, width});
  lister.add(prefix + "router.scale", {width});
  lister.add(prefix + "router.per_expert_scale", {moe.experts});
  TensorGroup& in = lister.add(prefix + "experts.gate_up_proj", {2 * moe.expert_width, width}, Cut::Expert);
  in.count = moe.experts, in.fused = true;
  TensorGroup& down = lister.add(prefix + "experts.down_proj", {width, moe.expert_width}, Cut::Expert);
  down.count = moe.experts, down.fused = true;
}

}  // namespace

ModelShape read_gemma4(const ConfigReader& text, const ConfigReader& outer) {
  ModelShape shape = read_gemma_body(text, outer);
  const int layer_count = text.count("num_hidden_layers", kLayersMax);
  const GroupedAttention sliding = read_sliding_attention(text);
  const GroupedAttention global = read_global_attention(text, sliding);
  const DenseMlp mlp{.width = text.integer("intermediate_size", 1, kVocabularyMax)};
  const std::optional<MoeMlp> moe = read_experts(text, layer_count);
  const RopeShape sliding_rope = read_kind_rope(text, "sliding_attention", shape.positions_max);
  const int shared =
      static_cast<int>(text.integer_if("num_kv_shared_layers", 0, layer_count - 1).value_or(0));
  const bool wide = text.flag("use_double_wide_mlp", false);
  if (!text.has("layer_types")) text.report("layer_types", "is missing and required");
  const auto types = read_layer_types(text, layer_count, kLayerKinds);
  for (int i = 0; i < layer_count; ++i) {
    const bool slides = types && (*types)[static_cast<std::size_t>(i)] == 1;
    const bool reads_earlier = i >= layer_count - shared;
    GroupedAttention attention = slides ? sliding : global;
    attention.reads_earlier_rows = reads_earlier;
    const DenseMlp dense{.width = reads_earlier && wide ? 2 * mlp.width : mlp.width};
    shape.layers.push_back(
        {.attention = attention,
         .mlp = moe ? MlpShape(DenseBesideMoe{.dense = dense, .moe = *moe}) : MlpShape(dense),
         .rope = slides ? std::optional(sliding_rope) : std::nullopt});
  }
  return shape;
}

void list_gemma4_tensors(const ModelShape& shape, TensorLister& lister) {
  const std::string root = "model.language_model.";
  const auto layers = static_cast<std::int64_t>(shape.layers.size());
  lister.at(Place::FirstStage);
  lister.add(root + "embed_tokens.weight", {shape.vocabulary, shape.hidden_width}, Cut::Vocabulary);
  if (shape.per_layer_inputs) {
    const std::int64_t packed = layers * shape.per_layer_inputs->width;
    lister.add(root + "embed_tokens_per_layer.weight", {shape.per_layer_inputs->vocabulary, packed},
               Cut::Vocabulary);
    lister.add(root + "per_layer_model_projection.weight", {packed, shape.hidden_width});
    lister.add(root + "per_layer_projection_norm.weight", {shape.per_layer_inputs->width});
  }
  for (std::size_t i = 0; i < shape.layers.size(); ++i) {
    lister.at_layer(static_cast<int>(i));
    list_layer(shape, shape.layers[i], root + "layers." + std::to_string(i) + ".", lister);
  }
  lister.at(Place::LastStage);
  lister.add(root + "norm.weight", {shape.hidden_width});
  TensorGroup& head = lister.add("lm_head.weight", {shape.vocabulary, shape.hidden_width}, Cut::Vocabulary);
  head.optional = head.alias = shape.tied_head;
}

}  // namespace outrider::checkpoint
