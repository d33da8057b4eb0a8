#include "checkpoint/families/qwen3.h"

#include <algorithm>
#include <array>

#include "checkpoint/shape_parts.h"

namespace outrider::checkpoint {
namespace {

constexpr std::array<std::string_view, 2> kRopeKinds = {"default", "yarn"};
constexpr std::array<std::string_view, 2> kLayerKinds = {"full_attention", "sliding_attention"};
constexpr std::array<std::string_view, 1> kActivations = {"silu"};

// Qwen3-MoE: transformers applies the window to all layers and knows no max_window_layers.
std::optional<std::int64_t> read_moe_window(const ConfigReader& text, int layer_count) {
  const std::optional<std::int64_t> window = read_sliding_window(text);
  if (const auto types = read_layer_types(text, layer_count, kLayerKinds)) {
    const std::size_t expected = window ? 1 : 0;
    text.require(
        std::all_of(types->begin(), types->end(), [&](std::size_t type) { return type == expected; }),
        "layer_types",
        window ? "must all be sliding_attention: use_sliding_window holds for every layer of this family"
               : "must all be full_attention where use_sliding_window gives no window");
  }
  return window;
}

MoeMlp read_moe(const ConfigReader& text) {
  const std::string_view experts = text.spelling("num_experts", "num_local_experts");
  const MoeMlp moe{
      .experts = text.count(experts, kExpertsMax),
      .experts_per_token = text.count("num_experts_per_tok", kExpertsMax),
      .expert_width = text.width("moe_intermediate_size"),
      .normalise_weights = text.flag("norm_topk_prob", false),
  };
  check_chosen_experts(text, "num_experts_per_tok", experts, moe.experts_per_token, moe.experts);
  return moe;
}

}  // namespace

ModelShape read_qwen3_body(const ConfigReader& text, const ConfigReader& outer, std::string family) {
  text.choice_if("hidden_act", kActivations);
  return read_body(text, outer, std::move(family), kRopeKinds);
}

GroupedAttention read_qwen3_attention(const ConfigReader& text,
                                      std::optional<std::int64_t> head_width_default) {
  GroupedAttention attention{
      .heads = text.count("num_attention_heads", kHeadsMax),
      .kv_heads = text.count("num_key_value_heads", kHeadsMax),
      .head_width = 2,
      .bias = text.flag("attention_bias", false),
  };
  check_head_counts(text, attention.heads, attention.kv_heads);
  const std::optional<std::int64_t> given = text.integer_if("head_dim", 1, kWidthMax);
  if (given || text.has("head_dim")) {
    attention.head_width = static_cast<int>(given.value_or(2));
  } else if (head_width_default) {
    attention.head_width = static_cast<int>(*head_width_default);
  } else {  // transformers' Qwen3-MoE: hidden / heads
    const std::int64_t hidden = text.integer_if("hidden_size", 1, kWidthMax).value_or(attention.heads * 2);
    text.require(hidden % attention.heads == 0, "num_attention_heads",
                 "must divide hidden_size where head_dim is absent");
    attention.head_width = static_cast<int>(std::max<std::int64_t>(hidden / attention.heads, 2));
  }
  text.require(attention.head_width % 2 == 0, "head_dim", "must be even: channels are rotated in pairs");
  return attention;
}

std::optional<std::int64_t> read_sliding_window(const ConfigReader& text) {
  if (!text.flag("use_sliding_window", false)) return std::nullopt;
  if (!text.has("sliding_window")) {
    text.report("sliding_window",
                "is required where use_sliding_window is true: must be an integer of 1 or more");
    return 1;
  }
  return text.integer_if("sliding_window", 1, kPositionsMax).value_or(1);
}

// Qwen3: "layer_types" decides; without it layers from max_window_layers on slide.
std::vector<std::optional<std::int64_t>> read_layer_windows(const ConfigReader& text, int layer_count) {
  std::vector<std::optional<std::int64_t>> windows(static_cast<std::size_t>(layer_count));
  const std::optional<std::int64_t> window = read_sliding_window(text);
  if (const auto types = read_layer_types(text, layer_count, kLayerKinds)) {
    const bool any = std::count(types->begin(), types->end(), std::size_t{1}) > 0;
    text.require(!any || window.has_value(), "layer_types",
                 "names sliding_attention, but use_sliding_window and sliding_window give no window");
    for (std::size_t i = 0; i < windows.size(); ++i) {
      if ((*types)[i] == 1) windows[i] = window;
    }
  } else if (window && !text.has("layer_types")) {
    const std::int64_t first = text.integer("max_window_layers", 0, kLayersMax);
    for (std::size_t i = 0; i < windows.size(); ++i) {
      if (static_cast<std::int64_t>(i) >= first) windows[i] = window;
    }
  }
  return windows;
}

ModelShape read_qwen3(const ConfigReader& text, const ConfigReader& outer) {
  ModelShape shape = read_qwen3_body(text, outer, "qwen3");
  const int layer_count = text.count("num_hidden_layers", kLayersMax);
  GroupedAttention attention = read_qwen3_attention(text, 128);
  const DenseMlp mlp{.width = text.integer("intermediate_size", 1, kVocabularyMax)};
  for (const std::optional<std::int64_t>& window : read_layer_windows(text, layer_count)) {
    attention.window = window;
    shape.layers.push_back({.attention = attention, .mlp = mlp});
  }
  return shape;
}

ModelShape read_qwen3_moe(const ConfigReader& text, const ConfigReader& outer) {
  ModelShape shape = read_qwen3_body(text, outer, "qwen3_moe");
  const int layer_count = text.count("num_hidden_layers", kLayersMax);
  GroupedAttention attention = read_qwen3_attention(text, std::nullopt);
  attention.window = read_moe_window(text, layer_count);
  const MoeMlp moe = read_moe(text);
  check_expert_tensors(text, text.spelling("num_experts", "num_local_experts"), layer_count, moe.experts);
  const std::int64_t step = text.integer_if("decoder_sparse_step", 1, kLayersMax).value_or(1);
  const std::vector<int> dense =
      text.integers_if("mlp_only_layers", 0, layer_count - 1).value_or(std::vector<int>{});
  const auto is_sparse = [&](int i) {
    return (i + 1) % step == 0 && std::find(dense.begin(), dense.end(), i) == dense.end();
  };
  std::optional<DenseMlp> mlp;  // read only where a layer needs it
  for (int i = 0; i < layer_count; ++i) {
    if (!is_sparse(i) && !mlp) mlp = DenseMlp{.width = text.integer("intermediate_size", 1, kVocabularyMax)};
    shape.layers.push_back({.attention = attention, .mlp = is_sparse(i) ? MlpShape(moe) : MlpShape(*mlp)});
  }
  if (!mlp) text.integer_if("intermediate_size", 1, kVocabularyMax);
  return shape;
}

void list_grouped_attention(const GroupedAttention& attention, std::int64_t hidden_width,
                            const std::string& prefix, const LinearFormat& format, TensorLister& lister,
                            std::int64_t input_width) {
  const std::int64_t query_width = std::int64_t{attention.heads} * attention.head_width;
  const std::int64_t kv_width = std::int64_t{attention.kv_heads} * attention.head_width;
  const std::int64_t q_out = attention.output_gate ? 2 * query_width : query_width;
  const bool has_keys = !attention.reads_earlier_rows;
  const bool has_values = has_keys && !attention.values_are_keys;
  const auto linear = [&](const char* name, std::int64_t out, std::int64_t in, Cut cut, int units) {
    lister.linear(prefix + name, out, in, cut, units, format);
    // The sum of a row-cut layer gets its bias once, whole.
    const bool whole = cut == Cut::Row;
    if (attention.bias)
      lister.add(prefix + name + ".bias", {out}, whole ? Cut::Replicated : cut, whole ? 1 : units);
  };
  linear("q_proj", q_out, input_width, Cut::QueryHeads, attention.heads);
  if (has_keys) linear("k_proj", kv_width, input_width, Cut::KvHeads, attention.kv_heads);
  if (has_values) linear("v_proj", kv_width, input_width, Cut::KvHeads, attention.kv_heads);
  linear("o_proj", hidden_width, query_width, Cut::Row, attention.heads);
  if (attention.qk_norm) {
    lister.add(prefix + "q_norm.weight", {attention.head_width});
    if (has_keys) lister.add(prefix + "k_norm.weight", {attention.head_width});
  }
  if (attention.sinks) lister.add(prefix + "sinks", {attention.heads}, Cut::QueryHeads, attention.heads);
}

void list_dense_mlp(std::int64_t width, std::int64_t hidden_width, const std::string& prefix,
                    const LinearFormat& format, TensorLister& lister) {
  lister.linear(prefix + "gate_proj", width, hidden_width, Cut::Column, 1, format);
  lister.linear(prefix + "up_proj", width, hidden_width, Cut::Column, 1, format);
  lister.linear(prefix + "down_proj", hidden_width, width, Cut::Row, 1, format);
}

void list_routed_experts(const MoeMlp& moe, std::int64_t hidden_width, const std::string& prefix,
                         const LinearFormat& format, TensorLister& lister) {
  lister.linear(prefix + "{}.gate_proj", moe.expert_width, hidden_width, Cut::Expert, 1, format, {},
                moe.experts);
  lister.linear(prefix + "{}.up_proj", moe.expert_width, hidden_width, Cut::Expert, 1, format, {},
                moe.experts);
  lister.linear(prefix + "{}.down_proj", hidden_width, moe.expert_width, Cut::Expert, 1, format, {},
                moe.experts);
}

void list_qwen3_tensors(const ModelShape& shape, TensorLister& lister) {
  const LinearFormat dense = shape.quantisation ? shape.quantisation->dense : LinearFormat{};
  const LinearFormat expert = shape.quantisation ? shape.quantisation->experts : LinearFormat{};
  lister.at(Place::FirstStage);
  lister.add("model.embed_tokens.weight", {shape.vocabulary, shape.hidden_width}, Cut::Vocabulary);
  for (std::size_t i = 0; i < shape.layers.size(); ++i) {
    const LayerShape& layer = shape.layers[i];
    const std::string prefix = "model.layers." + std::to_string(i) + ".";
    lister.at_layer(static_cast<int>(i));
    lister.add(prefix + "input_layernorm.weight", {shape.hidden_width});
    if (const auto* attention = std::get_if<GroupedAttention>(&layer.attention)) {
      list_grouped_attention(*attention, shape.hidden_width, prefix + "self_attn.", dense, lister,
                             shape.hidden_width);
    }
    lister.add(prefix + "post_attention_layernorm.weight", {shape.hidden_width});
    if (const auto* mlp = std::get_if<DenseMlp>(&layer.mlp)) {
      list_dense_mlp(mlp->width, shape.hidden_width, prefix + "mlp.", dense, lister);
    } else if (const auto* moe = std::get_if<MoeMlp>(&layer.mlp)) {
      lister.add(prefix + "mlp.gate.weight", {moe->experts, shape.hidden_width});
      list_routed_experts(*moe, shape.hidden_width, prefix + "mlp.experts.", expert, lister);
    }
  }
  lister.at(Place::LastStage);
  lister.add("model.norm.weight", {shape.hidden_width});
  TensorGroup& head = lister.add("lm_head.weight", {shape.vocabulary, shape.hidden_width}, Cut::Vocabulary);
  // A tied head may stand on disk all the same, as a copy that nobody reads.
  head.optional = head.alias = shape.tied_head;
}

}  // namespace outrider::checkpoint
