// gpt-oss: grouped attention with biases and sinks, alternating windows, experts in MXFP4 (transformers'
// gpt_oss).
#include <array>

#include "checkpoint/families/qwen3.h"
#include "checkpoint/families/readers.h"
#include "checkpoint/shape_parts.h"

namespace outrider::checkpoint {
namespace {

constexpr std::array<std::string_view, 2> kRopeKinds = {"default", "yarn"};
constexpr std::array<std::string_view, 2> kLayerKinds = {"full_attention", "sliding_attention"};
constexpr std::int64_t kGroup = 32;  // inputs that share a scale

// gate and up of one expert are one tensor, rows interleaved; all experts of a layer are one tensor on disk.
void list_experts(const MoeMlp& moe, std::int64_t hidden_width, const std::string& prefix, bool packed,
                  TensorLister& lister) {
  const auto add = [&](const char* name, std::int64_t out, std::int64_t in) {
    const auto fuse = [&](TensorGroup& group) -> TensorGroup& {
      group.count = moe.experts;
      group.fused = true;
      return group;
    };
    if (packed) {
      const std::int64_t groups = (in + kGroup - 1) / kGroup;
      fuse(lister.add_typed(prefix + name + "_blocks", tensor::Dtype::U8, {out, groups, kGroup / 2},
                            Cut::Expert))
          .parameters = out * in;
      fuse(lister.add_table(prefix + name + "_scales", tensor::Dtype::U8, {out, groups}, Cut::Expert));
    } else {
      fuse(lister.add(prefix + name, {in, out}, Cut::Expert));
    }
    fuse(lister.add(prefix + name + "_bias", {out}, Cut::Expert));
  };
  add("gate_up_proj", 2 * moe.expert_width, hidden_width);
  add("down_proj", hidden_width, moe.expert_width);
}

}  // namespace

ModelShape read_gpt_oss(const ConfigReader& text, const ConfigReader& outer) {
  ModelShape shape = read_body(text, outer, "gpt_oss", kRopeKinds);
  if (shape.quantisation && shape.quantisation->method == "mxfp4") {
    shape.quantisation->experts = Fp4Groups{.group = kGroup};
    shape.quantisation->sizes_known = true;
  }
  GroupedAttention attention{.heads = text.count("num_attention_heads", kHeadsMax),
                             .kv_heads = text.count("num_key_value_heads", kHeadsMax),
                             .head_width = text.count("head_dim", kWidthMax),
                             .bias = text.flag("attention_bias", true),
                             .qk_norm = false,
                             .sinks = true};
  check_head_counts(text, attention.heads, attention.kv_heads);
  const std::string_view experts = text.spelling("num_local_experts", "num_experts");
  const MoeMlp moe{
      .experts = text.count(experts, kExpertsMax),
      .experts_per_token = text.count(text.spelling("num_experts_per_tok", "experts_per_token"), kExpertsMax),
      .expert_width = text.width("intermediate_size"),
      .normalise_weights = true,  // softmax over the chosen logits
      .biases = true};
  check_chosen_experts(text, "num_experts_per_tok", experts, moe.experts_per_token, moe.experts);
  const int layer_count = text.count("num_hidden_layers", kLayersMax);
  check_expert_tensors(text, experts, layer_count, moe.experts);
  const std::int64_t window = text.integer("sliding_window", 1, kPositionsMax);
  const auto types = read_layer_types(text, layer_count, kLayerKinds);
  for (int i = 0; i < layer_count; ++i) {  // without a list every other layer slides, the first one too
    const bool slides = types ? (*types)[static_cast<std::size_t>(i)] == 1 : i % 2 == 0;
    attention.window = slides ? std::optional(window) : std::nullopt;
    shape.layers.push_back({.attention = attention, .mlp = moe});
  }
  return shape;
}

void list_gpt_oss_tensors(const ModelShape& shape, TensorLister& lister) {
  const bool packed = shape.quantisation && std::holds_alternative<Fp4Groups>(shape.quantisation->experts);
  const std::int64_t width = shape.hidden_width;
  lister.at(Place::FirstStage);
  lister.add("model.embed_tokens.weight", {shape.vocabulary, width}, Cut::Vocabulary);
  for (std::size_t i = 0; i < shape.layers.size(); ++i) {
    const std::string prefix = "model.layers." + std::to_string(i) + ".";
    lister.at_layer(static_cast<int>(i));
    lister.add(prefix + "input_layernorm.weight", {width});
    list_grouped_attention(std::get<GroupedAttention>(shape.layers[i].attention), width,
                           prefix + "self_attn.", PlainFormat{}, lister, width);
    lister.add(prefix + "post_attention_layernorm.weight", {width});
    const MoeMlp& moe = std::get<MoeMlp>(shape.layers[i].mlp);
    lister.add(prefix + "mlp.router.weight", {moe.experts, width});
    lister.add(prefix + "mlp.router.bias", {moe.experts});
    list_experts(moe, width, prefix + "mlp.experts.", packed, lister);
  }
  lister.at(Place::LastStage);
  lister.add("model.norm.weight", {width});
  TensorGroup& head = lister.add("lm_head.weight", {shape.vocabulary, width}, Cut::Vocabulary);
  head.optional = head.alias = shape.tied_head;
}

}  // namespace outrider::checkpoint
