// DeepSeek-V3, V3.1, V3.2, R1, Kimi-K2 and GLM-5: latent attention (with an indexer in V3.2 and GLM-5), dense
// layers first, then experts with shared ones; a multi-token-prediction layer behind the last (DeepSeek-V3
// README_WEIGHTS; transformers' deepseek_v3, glm_moe_dsa).
#include <algorithm>
#include <array>

#include "checkpoint/families/qwen3.h"
#include "checkpoint/families/readers.h"
#include "checkpoint/shape_parts.h"

namespace outrider::checkpoint {
namespace {

constexpr std::array<std::string_view, 2> kRopeKinds = {"default", "yarn"};
constexpr std::array<std::string_view, 1> kActivations = {"silu"};

MoeMlp read_moe(const ConfigReader& text, int layer_count) {
  MoeMlp moe{.experts = text.count("n_routed_experts", kExpertsMax),
             .experts_per_token = text.count("num_experts_per_tok", kExpertsMax),
             .expert_width = text.width("moe_intermediate_size"),
             .normalise_weights = text.flag("norm_topk_prob", true)};
  check_chosen_experts(text, "num_experts_per_tok", "n_routed_experts", moe.experts_per_token, moe.experts);
  check_expert_tensors(text, "n_routed_experts", layer_count, moe.experts);
  if (const std::int64_t shared = text.integer_if("n_shared_experts", 0, kExpertsMax).value_or(0);
      shared > 0) {
    moe.shared = SharedExperts{.count = static_cast<int>(shared), .width = shared * moe.expert_width};
  }
  const int groups = static_cast<int>(text.integer_if("n_group", 1, kExpertsMax).value_or(1));
  const int kept = static_cast<int>(text.integer_if("topk_group", 1, kExpertsMax).value_or(1));
  text.require(moe.experts % groups == 0, "n_group",
               "must divide n_routed_experts = " + std::to_string(moe.experts));
  text.require(kept <= groups, "topk_group", "must be at most n_group = " + std::to_string(groups));
  if (groups > 1) moe.groups = ExpertGroups{.groups = groups, .kept = kept};
  moe.selection_bias = text.text_if("topk_method").value_or("noaux_tc") == "noaux_tc";
  return moe;
}

void list_moe(const MoeMlp& moe, std::int64_t width, const std::string& prefix, const Quantisation& formats,
              const LinearNames& packed_names, TensorLister& lister) {
  lister.add(prefix + "gate.weight", {moe.experts, width});
  if (moe.selection_bias)
    lister.add_typed(prefix + "gate.e_score_correction_bias", tensor::Dtype::F32, {moe.experts});
  const auto expert = [&](const char* name, std::int64_t out, std::int64_t in) {
    const bool packed = std::holds_alternative<Int4Groups>(formats.experts) ||
                        std::holds_alternative<Fp4Groups>(formats.experts);
    lister.linear(prefix + "experts.{}." + name, out, in, Cut::Expert, 1, formats.experts,
                  packed ? packed_names : LinearNames{}, moe.experts);
  };
  expert("gate_proj", moe.expert_width, width);
  expert("up_proj", moe.expert_width, width);
  expert("down_proj", width, moe.expert_width);
  if (moe.shared) list_dense_mlp(moe.shared->width, width, prefix + "shared_experts.", formats.dense, lister);
}

void list_layer(const ModelShape& shape, const LayerShape& layer, const std::string& prefix,
                TensorLister& lister) {
  const Quantisation plain{.method = "", .dense = PlainFormat{}, .experts = PlainFormat{}, .ignored = {}};
  const Quantisation& formats = shape.quantisation ? *shape.quantisation : plain;
  lister.add(prefix + "input_layernorm.weight", {shape.hidden_width});
  list_latent_attention(std::get<LatentAttention>(layer.attention), shape.hidden_width, prefix + "self_attn.",
                        formats.dense, lister);
  lister.add(prefix + "post_attention_layernorm.weight", {shape.hidden_width});
  if (const auto* moe = std::get_if<MoeMlp>(&layer.mlp)) {
    list_moe(*moe, shape.hidden_width, prefix + "mlp.", formats,
             {.weight = ".weight_packed", .scale = ".weight_scale"}, lister);
  } else {
    list_dense_mlp(std::get<DenseMlp>(layer.mlp).width, shape.hidden_width, prefix + "mlp.", formats.dense,
                   lister);
  }
}

// The prediction layer repeats embedding and head of the target on disk.
void list_mtp(const ModelShape& shape, int stage, TensorLister& lister) {
  const int number = static_cast<int>(shape.layers.size()) + stage;
  const std::string prefix = "model.layers." + std::to_string(number) + ".";
  const std::int64_t width = shape.hidden_width;
  lister.at_layer(number);
  lister.drafter(true);
  lister.add(prefix + "embed_tokens.weight", {shape.vocabulary, width}, Cut::Vocabulary).alias = true;
  lister.add(prefix + "enorm.weight", {width});
  lister.add(prefix + "hnorm.weight", {width});
  lister.add(prefix + "eh_proj.weight", {width, 2 * width});  // left in the model's type
  list_layer(shape, shape.layers.back(), prefix, lister);
  lister.add(prefix + "shared_head.norm.weight", {width});
  lister.add(prefix + "shared_head.head.weight", {shape.vocabulary, width}, Cut::Vocabulary).alias = true;
  lister.drafter(false);
}

}  // namespace

LatentAttention read_latent_attention(const ConfigReader& text) {
  LatentAttention attention{.heads = text.count("num_attention_heads", kHeadsMax),
                            .query_rank = text.integer_if("q_lora_rank", 1, kWidthMax),
                            .kv_rank = text.width("kv_lora_rank"),
                            .nope_width = text.width("qk_nope_head_dim"),
                            .rope_width = text.width("qk_rope_head_dim"),
                            .value_width = text.width("v_head_dim")};
  text.require(attention.rope_width % 2 == 0, "qk_rope_head_dim",
               "must be even: channels are rotated in pairs");
  if (text.has("index_topk")) {
    attention.indexer = IndexerShape{.heads = text.count("index_n_heads", kHeadsMax),
                                     .head_width = text.width("index_head_dim"),
                                     .chosen = text.integer("index_topk", 1, kPositionsMax)};
  }
  return attention;
}

void list_latent_attention(const LatentAttention& attention, std::int64_t hidden_width,
                           const std::string& prefix, const LinearFormat& format, TensorLister& lister) {
  const std::int64_t query_width = attention.heads * (attention.nope_width + attention.rope_width);
  const std::int64_t value_width = attention.heads * attention.value_width;
  if (attention.query_rank) {
    lister.linear(prefix + "q_a_proj", *attention.query_rank, hidden_width, Cut::Replicated, 1, format);
    lister.add(prefix + "q_a_layernorm.weight", {*attention.query_rank});
    lister.linear(prefix + "q_b_proj", query_width, *attention.query_rank, Cut::QueryHeads, attention.heads,
                  format);
  } else {
    lister.linear(prefix + "q_proj", query_width, hidden_width, Cut::QueryHeads, attention.heads, format);
  }
  lister.linear(prefix + "kv_a_proj_with_mqa", attention.kv_rank + attention.rope_width, hidden_width,
                Cut::Replicated, 1, format);
  lister.add(prefix + "kv_a_layernorm.weight", {attention.kv_rank});
  lister.linear(prefix + "kv_b_proj", attention.heads * (attention.nope_width + attention.value_width),
                attention.kv_rank, Cut::QueryHeads, attention.heads, format);
  lister.linear(prefix + "o_proj", hidden_width, value_width, Cut::Row, attention.heads, format);
  if (attention.output_gate) {
    lister.linear(prefix + "g_proj", value_width, hidden_width, Cut::QueryHeads, attention.heads, format);
  }
  if (!attention.indexer) return;
  const IndexerShape& indexer = *attention.indexer;
  const std::int64_t source = attention.query_rank.value_or(hidden_width);
  lister.linear(prefix + "indexer.wq_b", indexer.heads * indexer.head_width, source, Cut::Replicated, 1,
                format);
  lister.linear(prefix + "indexer.wk", indexer.head_width, hidden_width, Cut::Replicated, 1, format);
  lister.add(prefix + "indexer.k_norm.weight", {indexer.head_width});
  lister.add(prefix + "indexer.k_norm.bias", {indexer.head_width});
  lister.add(prefix + "indexer.weights_proj.weight", {indexer.heads, hidden_width});
}

ModelShape read_deepseek_v3(const ConfigReader& text, const ConfigReader& outer) {
  ModelShape shape = read_body(text, outer, "deepseek_v3", kRopeKinds);
  text.choice_if("hidden_act", kActivations);
  // Published files hold these scales as 32-bit floats, whatever "scale_fmt" says of their values.
  if (shape.quantisation) {
    for (LinearFormat* format : {&shape.quantisation->dense, &shape.quantisation->experts}) {
      if (auto* blocks = std::get_if<Fp8Blocks>(format)) blocks->power_of_two_scales = false;
    }
  }
  const int layer_count = text.count("num_hidden_layers", kLayersMax);
  const LatentAttention attention = read_latent_attention(text);
  const MoeMlp moe = read_moe(text, layer_count);
  const int dense_first =
      static_cast<int>(text.integer_if("first_k_dense_replace", 0, layer_count).value_or(0));
  const int step = static_cast<int>(text.integer_if("moe_layer_freq", 1, kLayersMax).value_or(1));
  std::optional<DenseMlp> mlp;
  for (int i = 0; i < layer_count; ++i) {
    const bool sparse = i >= dense_first && i % step == 0;
    if (!sparse && !mlp) mlp = DenseMlp{.width = text.integer("intermediate_size", 1, kVocabularyMax)};
    shape.layers.push_back({.attention = attention, .mlp = sparse ? MlpShape(moe) : MlpShape(*mlp)});
  }
  const std::int64_t stages = text.integer_if("num_nextn_predict_layers", 0, kLayersMax).value_or(0);
  if (stages > 0) shape.inside_drafter = SerialMtp{.stages = static_cast<int>(stages)};
  return shape;
}

void list_deepseek_v3_tensors(const ModelShape& shape, TensorLister& lister) {
  const std::int64_t width = shape.hidden_width;
  lister.at(Place::FirstStage);
  lister.add("model.embed_tokens.weight", {shape.vocabulary, width}, Cut::Vocabulary);
  for (std::size_t i = 0; i < shape.layers.size(); ++i) {
    lister.at_layer(static_cast<int>(i));
    list_layer(shape, shape.layers[i], "model.layers." + std::to_string(i) + ".", lister);
  }
  lister.at(Place::LastStage);
  lister.add("model.norm.weight", {width});
  TensorGroup& head = lister.add("lm_head.weight", {shape.vocabulary, width}, Cut::Vocabulary);
  head.optional = head.alias = shape.tied_head;
  if (!shape.inside_drafter) return;
  if (const auto* mtp = std::get_if<SerialMtp>(&*shape.inside_drafter)) {
    for (int i = 0; i < mtp->stages; ++i) list_mtp(shape, i, lister);
  }
}

}  // namespace outrider::checkpoint
