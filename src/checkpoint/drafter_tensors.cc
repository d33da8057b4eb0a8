#include "checkpoint/drafter_tensors.h"

#include "checkpoint/families/qwen3.h"

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

}  // namespace

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
    if (const auto* mlp = std::get_if<DenseMlp>(&backbone.layers[i].mlp)) {
      list_dense_mlp(mlp->width, width, prefix + "mlp.", PlainFormat{}, lister);
    }
  }
  lister.add("norm.weight", {width});
  if (shape.own_head) lister.add("lm_head.weight", {draft_vocabulary, width}, Cut::Vocabulary);
  if (shape.markov) list_markov(*shape.markov, width, backbone.vocabulary, draft_vocabulary, lister);
  if (shape.confidence) {
    const std::int64_t markov_width = shape.confidence->with_markov && shape.markov ? shape.markov->rank : 0;
    lister.add("confidence_head.proj.weight", {1, width + markov_width});
    lister.add("confidence_head.proj.bias", {1});
  }
  if (shape.draft_vocabulary) {
    lister.add_table("d2t", tensor::Dtype::I64, {draft_vocabulary});
    lister.add_table("t2d", tensor::Dtype::Bool, {backbone.vocabulary});
  }
}

}  // namespace outrider::checkpoint
