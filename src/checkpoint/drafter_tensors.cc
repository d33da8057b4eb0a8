#include "checkpoint/drafter_tensors.h"

#include <algorithm>
#include <functional>

#include "checkpoint/families/qwen3.h"
#include "checkpoint/families/readers.h"

namespace outrider::checkpoint {
namespace {

// W1 maps every target token; W2 scores what the drafter can propose.
void list_markov(const MarkovShape& markov, std::int64_t hidden_width, std::int64_t vocabulary,
                 std::int64_t draft_vocabulary, TensorLister& lister) {
  lister.add("markov_head.markov_w1.weight", {vocabulary, markov.rank});
  lister.add("markov_head.markov_w2.weight", {draft_vocabulary, markov.rank});
  if (markov.kind == MarkovKind::Gated) {
    lister.add("markov_head.gate_proj.weight", {markov.rank, hidden_width + markov.rank});
    lister.add("markov_head.gate_proj.bias", {markov.rank});
  }
  if (markov.kind == MarkovKind::Rnn) {
    lister.add("markov_head.joint_proj.weight", {3 * markov.rank, 2 * markov.rank + hidden_width});
    lister.add("markov_head.joint_proj.bias", {3 * markov.rank});
  }
}

void list_confidence(std::int64_t input_width, TensorLister& lister) {
  lister.add("confidence_head.proj.weight", {1, input_width});
  lister.add("confidence_head.proj.bias", {1});
}

// Draft ids and target ids, where the head has fewer rows than the target.
void list_id_maps(std::int64_t draft_vocabulary, std::int64_t vocabulary, TensorLister& lister) {
  lister.add_table("d2t", tensor::Dtype::I64, {draft_vocabulary});
  lister.add_table("t2d", tensor::Dtype::Bool, {vocabulary});
}

}  // namespace

LatentDrafterShape read_latent_drafter(const ConfigReader& outer, const ModelShape& shape) {
  LatentDrafterShape drafter{
      .block_size = outer.count("block_size", kBlockMax),
      .mask_token = outer.integer("mask_token_id", 0, kVocabularyMax),
      .markov_rank = outer.integer("markov_rank", 0, kWidthMax),
      .target_width = outer.integer_if("target_hidden_size", 1, kWidthMax).value_or(shape.hidden_width),
      .confidence = outer.flag("enable_confidence_head", false),
      .taps = {},
      .target_layers = {}};
  outer.require(drafter.mask_token < shape.vocabulary, "mask_token_id",
                "must be below vocab_size = " + std::to_string(shape.vocabulary));
  constexpr std::string_view kHeadTypes[] = {"vanilla"};
  outer.choice_if("markov_head_type", kHeadTypes);
  if (const auto layers = outer.integer_if("target_num_hidden_layers", 1, kLayersMax)) {
    drafter.target_layers = static_cast<int>(*layers);
  }
  constexpr std::string_view kTaps = "target_layer_ids";
  if (!outer.has(kTaps))
    outer.report(kTaps, "is missing and required: the target's layers that the drafter reads");
  const std::int64_t last = drafter.target_layers ? *drafter.target_layers - 1 : kLayersMax;
  drafter.taps = outer.integers_if(kTaps, -1, last).value_or(std::vector<int>{});
  outer.require(std::is_sorted(drafter.taps.begin(), drafter.taps.end(), std::less_equal<>()), kTaps,
                "must increase strictly");
  return drafter;
}

void list_latent_drafter_tensors(const ModelShape& shape, const LatentDrafterShape& drafter,
                                 TensorLister& lister) {
  const std::int64_t width = shape.hidden_width;
  lister.at(Place::LastStage);
  lister.add("embed_tokens.weight", {shape.vocabulary, width}, Cut::Vocabulary);
  lister.add("context_proj.weight",
             {width, static_cast<std::int64_t>(drafter.taps.size()) * drafter.target_width});
  lister.add("context_norm.weight", {width});
  for (std::size_t i = 0; i < shape.layers.size(); ++i) {
    const std::string prefix = "layers." + std::to_string(i) + ".";
    lister.add(prefix + "input_layernorm.weight", {width});
    list_latent_attention(std::get<LatentAttention>(shape.layers[i].attention), width, prefix + "self_attn.",
                          PlainFormat{}, lister);
    lister.add(prefix + "post_attention_layernorm.weight", {width});
    list_dense_mlp(std::get<DenseMlp>(shape.layers[i].mlp).width, width, prefix + "mlp.", PlainFormat{},
                   lister);
  }
  lister.add("final_norm.weight", {width});
  if (drafter.markov_rank > 0) {
    list_markov({.kind = MarkovKind::Vanilla, .rank = drafter.markov_rank}, width, shape.vocabulary,
                shape.vocabulary, lister);
  }
  if (drafter.confidence) list_confidence(width + drafter.markov_rank, lister);
}

void list_eagle3_tensors(const ModelShape& shape, const Eagle3Shape& drafter, TensorLister& lister) {
  const std::int64_t width = shape.hidden_width;
  lister.at(Place::LastStage);
  if (drafter.own_embedding) lister.add("embed_tokens.weight", {shape.vocabulary, width}, Cut::Vocabulary);
  lister.add("fc.weight", {width, drafter.fused_width});
  for (std::size_t i = 0; i < shape.layers.size(); ++i) {
    // The published files name their only layer so; the others number it.
    const std::string prefix =
        drafter.own_embedding || shape.layers.size() > 1 ? "layers." + std::to_string(i) + "." : "midlayer.";
    for (const char* norm : {"input_layernorm", "hidden_norm", "post_attention_layernorm"}) {
      lister.add(prefix + norm + ".weight", {width});
    }
    list_grouped_attention(std::get<GroupedAttention>(shape.layers[i].attention), width,
                           prefix + "self_attn.", PlainFormat{}, lister, 2 * width);
    list_dense_mlp(std::get<DenseMlp>(shape.layers[i].mlp).width, width, prefix + "mlp.", PlainFormat{},
                   lister);
  }
  lister.add("norm.weight", {width});
  lister.add("lm_head.weight", {drafter.draft_vocabulary, width}, Cut::Vocabulary);
  if (drafter.draft_vocabulary < shape.vocabulary)
    list_id_maps(drafter.draft_vocabulary, shape.vocabulary, lister);
}

void list_drafter_tensors(const DrafterShape& shape, TensorLister& lister) {
  const ModelShape& backbone = shape.backbone;
  const std::int64_t width = backbone.hidden_width;
  const std::int64_t draft_vocabulary = shape.draft_vocabulary.value_or(backbone.vocabulary);
  lister.at(Place::LastStage);
  if (shape.own_embedding) lister.add("embed_tokens.weight", {backbone.vocabulary, width}, Cut::Vocabulary);
  lister.add("fc.weight", {width, static_cast<std::int64_t>(shape.taps.size()) * width});
  lister.add("hidden_norm.weight", {width});
  for (std::size_t i = 0; i < backbone.layers.size(); ++i) {
    const std::string prefix = "layers." + std::to_string(i) + ".";
    lister.add(prefix + "input_layernorm.weight", {width});
    if (const auto* attention = std::get_if<GroupedAttention>(&backbone.layers[i].attention)) {
      list_grouped_attention(*attention, width, prefix + "self_attn.", PlainFormat{}, lister, width);
    }
    lister.add(prefix + "post_attention_layernorm.weight", {width});
    if (backbone.family ==
        "gemma4") {  // its layers norm each branch before and after, and scale their output
      lister.add(prefix + "pre_feedforward_layernorm.weight", {width});
      lister.add(prefix + "post_feedforward_layernorm.weight", {width});
      lister.add(prefix + "layer_scalar", {1});
    }
    if (const auto* mlp = std::get_if<DenseMlp>(&backbone.layers[i].mlp)) {
      list_dense_mlp(mlp->width, width, prefix + "mlp.", PlainFormat{}, lister);
    }
  }
  lister.add("norm.weight", {width});
  if (shape.own_head) lister.add("lm_head.weight", {draft_vocabulary, width}, Cut::Vocabulary);
  if (shape.markov) list_markov(*shape.markov, width, backbone.vocabulary, draft_vocabulary, lister);
  if (shape.confidence) {
    const std::int64_t markov_width = shape.confidence->with_markov && shape.markov ? shape.markov->rank : 0;
    list_confidence(width + markov_width, lister);
  }
  if (shape.draft_vocabulary) list_id_maps(draft_vocabulary, backbone.vocabulary, lister);
}

}  // namespace outrider::checkpoint
