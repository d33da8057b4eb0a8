#include "draft/block_drafter.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "draft/block_heads.h"
#include "draft/context_writer.h"
#include "draft/scratch.h"
#include "kernels/biased_argmax.h"
#include "model/bricks/attention.h"
#include "model/bricks/embedding.h"
#include "model/bricks/mlp.h"
#include "model/rope.h"

namespace outrider::draft {
namespace {

using checkpoint::BlockLayout;
using model::Slot;

struct Layer {
  model::AttentionWeights attention;
  model::MlpWeights mlp;
};

class BlockDrafter final : public Drafter {
 public:
  BlockDrafter(kernels::Executor& executor, const BlockPlan& plan, model::WeightLoader& loader,
               const model::Model& target);

  std::span<const model::TapPoint> taps() const override { return taps_; }
  int drafts_max() const override { return plan_.draft_tokens; }
  bool estimates_survival() const override { return confidence_.has_value(); }
  void begin(base::SequenceId sequence) override { context_.begin(sequence); }
  void end(base::SequenceId sequence) override { context_.end(sequence); }
  void settle(base::SequenceId sequence, std::int64_t length) override { context_.settle(sequence, length); }
  void observe(std::span<const Observation> observations) override;
  void propose(std::span<const DraftRequest> requests, std::span<decode::Proposal> proposals) override;
  DraftTimes times() const override { return times_; }
  std::int64_t weight_bytes() const override;
  std::vector<std::byte> state_bytes(base::SequenceId sequence, std::int64_t position) override {
    return context_.state_bytes(sequence, position);
  }

 private:
  void show(DraftStage stage, tensor::MatrixView<const float> values) const {
    if (observer != nullptr) observer->observe(stage, values);
  }
  bool anchor_first() const { return plan_.shape.layout == BlockLayout::AnchorFirst; }
  const kernels::PackedMatrix& embedding() const {
    return plan_.shape.own_embedding ? embedding_ : target_.embedding_weights();
  }
  const kernels::PackedMatrix& head() const { return plan_.shape.own_head ? head_ : target_.head_weights(); }
  // Draws one draft of one request into its proposal; false if the drafter's logits are no distribution,
  // which ends the proposal.
  bool choose_draft(std::span<const float> logits, const DraftRequest& request, int slot,
                    decode::Proposal& proposal) const;

  void take_draft(std::int32_t draft_id, decode::Proposal& proposal) const;

  void write_context(std::span<const DraftRequest> requests);
  int most_wanted(std::span<const DraftRequest> requests) const;
  void place_block(std::span<const DraftRequest> requests);
  void see_block(std::span<const DraftRequest> requests, const checkpoint::DraftLayerShape& mask);
  tensor::MatrixView<float> run_block(std::span<const DraftRequest> requests);
  void choose_drafts(std::span<const DraftRequest> requests, tensor::MatrixView<const float> hidden,
                     std::span<decode::Proposal> proposals);
  bool draws_nothing(std::span<const DraftRequest> requests) const;
  bool is_search_worthwhile();
  bool apply_markov(tensor::MatrixView<const float> h, tensor::MatrixView<const float> e, bool may_search,
                    tensor::MatrixView<float> logits);

  kernels::Executor& executor_;
  BlockPlan plan_;
  const model::Model& target_;
  std::vector<model::TapPoint> taps_;
  kernels::PackedMatrix embedding_, head_;
  std::vector<float> final_norm_;
  std::vector<Layer> layers_;
  std::optional<MarkovHead> markov_;
  std::optional<ConfidenceHead> confidence_;
  std::vector<base::TokenId> id_map_;  // draft id -> target id; empty: the same
  model::RopeTables rope_;

  ContextWriter context_;
  model::Workspace workspace_;
  tensor::Buffer hidden_, logits_, bias_, markov_rows_;
  std::vector<base::SequenceId> sequences_;
  std::vector<base::TokenId> tokens_;
  std::vector<std::int64_t> positions_;
  std::vector<kernels::KvRow> stored_;
  std::vector<kernels::AttentionRow> seen_;
  std::vector<base::TokenId> previous_;
  std::vector<int> wanted_;             // drafts still wanted, one a request
  std::vector<std::int32_t> best_ids_;  // likeliest draft ids, where a search decided
  std::vector<float> best_logits_;
  int search_misses_ = 0;  // in a row
  unsigned searches_passed_ = 0;
  DraftTimes times_;
};

model::TapPoint tap_of(int layer_output) {
  if (layer_output < 0) return {0, model::TapSide::Input};  // the embedding's output
  return {layer_output, model::TapSide::Output};
}

BlockDrafter::BlockDrafter(kernels::Executor& executor, const BlockPlan& plan, model::WeightLoader& loader,
                           const model::Model& target)
    : executor_(executor), plan_(plan), target_(target), context_(executor, plan_, loader) {
  const checkpoint::ModelShape& backbone = plan.shape.backbone;
  for (const int layer : plan.shape.taps) taps_.push_back(tap_of(layer));
  if (plan.shape.own_embedding)
    embedding_ = loader.matrix({"embed_tokens.weight"}, model::MatrixUse::Vocabulary);
  if (plan.shape.own_head) head_ = loader.matrix({"lm_head.weight"}, model::MatrixUse::Vocabulary);
  final_norm_ = loader.vector({"norm.weight"});
  for (std::size_t i = 0; i < backbone.layers.size(); ++i) {
    const std::string prefix = "layers." + std::to_string(i) + ".";
    const auto& attention = std::get<checkpoint::GroupedAttention>(backbone.layers[i].attention);
    layers_.push_back({model::load_attention(loader, prefix, attention, backbone.norm_epsilon),
                       model::load_mlp(loader, prefix, backbone.layers[i].mlp, backbone.norm_epsilon)});
  }
  if (plan.shape.markov) markov_.emplace(executor, loader, *plan.shape.markov);
  if (plan.shape.confidence) confidence_.emplace(loader, *plan.shape.confidence);
  if (plan.shape.draft_vocabulary) {
    const std::vector<std::int64_t> offsets = loader.integers("d2t");  // target id = draft id + offset
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      const std::int64_t id = offsets[i] + static_cast<std::int64_t>(i);
      if (id < 0 || id >= backbone.vocabulary) {
        loader.report({.field = "d2t[" + std::to_string(i) + "]",
                       .found = std::to_string(offsets[i]),
                       .rule = "must lead to a token of the target's vocabulary, 0 to " +
                               std::to_string(backbone.vocabulary - 1),
                       .remedy = ""});
        break;
      }
      id_map_.push_back(static_cast<base::TokenId>(id));
    }
  }
  rope_ = model::RopeTables(backbone.rope, layers_.front().attention.shape.head_width, plan.position_count);
  ContextWriter::Layers layers{.attention = {}, .rope = &rope_};
  for (const Layer& layer : layers_) layers.attention.push_back(&layer.attention);
  context_.set_layers(std::move(layers));
}

std::int64_t BlockDrafter::weight_bytes() const {
  std::int64_t bytes = embedding_.byte_count() + head_.byte_count() + context_.byte_count();
  for (const Layer& layer : layers_) {
    bytes += layer.attention.query.byte_count() + layer.attention.key_value.byte_count() +
             layer.attention.output.byte_count() + model::mlp_bytes(layer.mlp);
  }
  return bytes + (markov_ ? markov_->byte_count() : 0);
}

void BlockDrafter::observe(std::span<const Observation> observations) {
  const base::Stopwatch watch(times_.context);
  for (const Observation& observation : observations) context_.observe(observation);
}

void BlockDrafter::write_context(std::span<const DraftRequest> requests) {
  const base::Stopwatch watch(times_.context);
  sequences_.clear();
  for (const DraftRequest& request : requests) sequences_.push_back(request.sequence);
  const tensor::MatrixView<float> written = context_.write(sequences_);
  if (written.rows > 0) show(DraftStage::Context, written);
}

void BlockDrafter::place_block(std::span<const DraftRequest> requests) {
  tokens_.clear();
  positions_.clear();
  stored_.clear();
  for (const DraftRequest& request : requests) {
    cache::BlockTable& table = context_.table(request.sequence);
    const auto anchor = static_cast<std::int64_t>(request.tokens.size()) - 1;
    OUTRIDER_CHECK_MSG(context_.length(request.sequence) == anchor,
                       "every position before the anchor must have been observed");
    // Block rows stand behind the context while the block runs, and are dropped after it.
    const bool reserved = table.reserve(anchor, anchor + plan_.block_slots, context_.store());
    OUTRIDER_CHECK_MSG(reserved, "the drafter's cache is planned for every sequence's length and one block");
    for (int slot = 0; slot < plan_.block_slots; ++slot) {
      tokens_.push_back(slot == 0 ? request.tokens.back() : plan_.shape.mask_token);
      positions_.push_back(anchor + slot);
      stored_.push_back({.blocks = table.data(), .position = anchor + slot});
    }
  }
}

void BlockDrafter::see_block(std::span<const DraftRequest> requests,
                             const checkpoint::DraftLayerShape& mask) {
  seen_.clear();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto anchor = static_cast<std::int64_t>(requests[i].tokens.size()) - 1;
    const std::int64_t first = mask.window ? std::max<std::int64_t>(0, anchor - *mask.window) : 0;
    for (int slot = 0; slot < plan_.block_slots; ++slot) {
      const std::int64_t last = anchor + (mask.causal_block ? slot + 1 : plan_.block_slots);
      seen_.push_back({.blocks = stored_[i * static_cast<std::size_t>(plan_.block_slots)].blocks,
                       .first = first,
                       .last = last});
    }
  }
}

// The block's residual stream after the last layer and the final norm: [requests * slots, hidden].
tensor::MatrixView<float> BlockDrafter::run_block(std::span<const DraftRequest> requests) {
  const base::Stopwatch watch(times_.layers);
  place_block(requests);
  const auto rows = static_cast<std::int64_t>(tokens_.size());
  const auto x = workspace_.matrix(Slot::Stream, rows, plan_.shape.backbone.hidden_width);
  model::embed(executor_, embedding(), tokens_, x);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    see_block(requests, plan_.shape.layer_masks[i]);
    model::run_attention(executor_, workspace_, layers_[i].attention, rope_.view(),
                         {.positions = positions_, .stored = stored_, .seen = seen_},
                         context_.store().layer(static_cast<int>(i)), x);
    model::run_mlp(executor_, workspace_, layers_[i].mlp, x, static_cast<int>(i), nullptr);
    show(DraftStage::LayerOutput, x);
  }
  kernels::rms_norm(executor_, x, final_norm_, static_cast<float>(plan_.shape.backbone.norm_epsilon), x);
  show(DraftStage::BlockHidden, x);
  return x;
}

// Whether every draft is the likeliest token, so that nobody needs the logits.
bool BlockDrafter::draws_nothing(std::span<const DraftRequest> requests) const {
  if (observer != nullptr) return false;
  return std::all_of(requests.begin(), requests.end(), [&](const DraftRequest& request) {
    return decode::is_greedy_draft(plan_.method, request.sampling->temperature);
  });
}

// A drafter whose logits lie close together pays for bounds that exclude nothing: after some such searches
// only one in many is made.
bool BlockDrafter::is_search_worthwhile() {
  constexpr int kMissesMax = 8, kPause = 32;
  return search_misses_ < kMissesMax || ++searches_passed_ % kPause == 0;
}

// The bias on the logits of one draft index. Where only the likeliest token counts, most of W2 cannot change
// it: true if best_ids_ was found so, and the logits are as they were.
bool BlockDrafter::apply_markov(tensor::MatrixView<const float> h, tensor::MatrixView<const float> e,
                                bool may_search, tensor::MatrixView<float> logits) {
  const base::Stopwatch watch(times_.markov);
  const auto input = workspace_.matrix(Slot::Gated, e.rows, e.columns);
  markov_->derive_input(executor_, h, e, input);
  best_ids_.resize(static_cast<std::size_t>(logits.rows));
  best_logits_.resize(best_ids_.size());
  if (may_search && is_search_worthwhile()) {
    const bool is_found = kernels::biased_argmax(executor_, input, markov_->output_weights(),
                                                 markov_->output_lengths(), logits, best_ids_, best_logits_);
    search_misses_ = is_found ? 0 : search_misses_ + 1;
    if (is_found) return true;
  }
  const auto bias = grow(bias_, logits.rows, logits.columns);
  kernels::linear(executor_, input, markov_->output_weights(), {}, bias);
  show(DraftStage::MarkovBias, bias);
  kernels::add_rows(executor_, bias, logits);
  return false;
}

// Left to right: the draft with index k sees the token before it, its own slot's hidden state and, with an
// rnn, what came before.
void BlockDrafter::choose_drafts(std::span<const DraftRequest> requests,
                                 tensor::MatrixView<const float> hidden,
                                 std::span<decode::Proposal> proposals) {
  const auto count = static_cast<std::int64_t>(requests.size());
  const std::int64_t width = hidden.columns, vocabulary = head().outputs();
  const int first_slot = anchor_first() ? 0 : 1, drafts = most_wanted(requests);
  // Slot-major: the rows of one draft index of all sequences stand together. Slot 0 of a 1 + N block is
  // needed by the rnn only.
  const auto slots = grow(hidden_, count * (drafts + first_slot), width);
  for (int slot = 0; slot < drafts + first_slot; ++slot) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::memcpy(slots.row(slot * count + i), hidden.row(i * plan_.block_slots + slot),
                  static_cast<std::size_t>(width) * sizeof(float));
    }
  }
  const auto logits = grow(logits_, count * drafts, vocabulary);
  {
    const base::Stopwatch watch(times_.head);
    kernels::linear(executor_, slots.row_range(first_slot * count, count * drafts), head(), {}, logits);
  }
  previous_.clear();
  wanted_.clear();
  for (const DraftRequest& request : requests) {
    previous_.push_back(request.tokens.back());
    wanted_.push_back(request.draft_count_max);
  }
  const std::int64_t rank = markov_ ? markov_->rank() : 0;
  const auto e = grow(markov_rows_, count, rank);
  if (markov_) markov_->begin_block(count);
  const bool may_search = draws_nothing(requests);
  for (int slot = 0; slot < drafts + first_slot; ++slot) {
    const auto h = slots.row_range(slot * count, count);
    const int k = slot - first_slot;
    if (markov_) markov_->embed(executor_, previous_, e);
    if (k < 0) {  // the slot that predicts nothing: an rnn takes a step all the same
      if (markov_) markov_->derive_input(executor_, h, e, workspace_.matrix(Slot::Gated, count, rank));
      continue;
    }
    const auto row_logits = logits.row_range(k * count, count);
    show(DraftStage::BaseLogits, row_logits);
    const bool is_found = markov_ && apply_markov(h, e, may_search, row_logits);
    show(DraftStage::Logits, row_logits);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto index = static_cast<std::size_t>(i);
      decode::Proposal& proposal = proposals[index];
      if (k >= wanted_[index]) continue;
      if (is_found) {
        take_draft(best_ids_[index], proposal);
      } else if (!choose_draft(row_logits.row_span(i), requests[index], k, proposal)) {
        wanted_[index] = k;
        continue;
      }
      if (confidence_) proposal.confidences.push_back(confidence_->score(h.row_span(i), e.row_span(i)));
      previous_[index] = proposal.tokens.back();
    }
  }
}

int BlockDrafter::most_wanted(std::span<const DraftRequest> requests) const {
  int most = 0;
  for (const DraftRequest& request : requests) most = std::max(most, request.draft_count_max);
  return std::min(most, plan_.draft_tokens);
}

void BlockDrafter::take_draft(std::int32_t draft_id, decode::Proposal& proposal) const {
  const base::TokenId token = id_map_.empty() ? draft_id : id_map_[static_cast<std::size_t>(draft_id)];
  proposal.tokens.push_back(token);
  proposal.q.push_back(decode::OneHot{.id = token});
}

bool BlockDrafter::choose_draft(std::span<const float> logits, const DraftRequest& request, int slot,
                                decode::Proposal& proposal) const {
  const decode::DraftRules rules{.method = plan_.method,
                                 .accept = plan_.accept,
                                 .temperature = request.sampling->temperature,
                                 .seed = request.sampling->seed};
  decode::Distribution q;
  const auto token = decode::sample_draft(
      logits, id_map_, rules,
      {.position = static_cast<std::int64_t>(request.tokens.size()) + slot, .slot = slot}, q);
  if (!token.ok()) return false;
  proposal.tokens.push_back(*token);
  proposal.q.push_back(std::move(q));
  return true;
}

void BlockDrafter::propose(std::span<const DraftRequest> requests, std::span<decode::Proposal> proposals) {
  for (decode::Proposal& proposal : proposals) proposal.clear();
  const bool any =
      std::any_of(requests.begin(), requests.end(), [](const auto& r) { return r.draft_count_max > 0; });
  if (!any) return;
  write_context(requests);
  choose_drafts(requests, run_block(requests), proposals);
  for (const DraftRequest& request : requests) {
    context_.table(request.sequence).truncate(context_.length(request.sequence));
  }
}

}  // namespace

std::vector<cache::LayerCache> derive_draft_cache_layers(const checkpoint::DrafterShape& shape) {
  return model::derive_cache_layers(shape.backbone);
}

base::Result<std::unique_ptr<Drafter>> load_block_drafter(kernels::Executor& executor, const BlockPlan& plan,
                                                          const checkpoint::TensorSource& source,
                                                          const model::Model& target,
                                                          const model::LoadOptions& options) {
  model::WeightLoader loader(executor, source, options);
  auto drafter = std::make_unique<BlockDrafter>(executor, plan, loader, target);
  OUTRIDER_TRY_DONE(std::move(loader).finish());
  return std::unique_ptr<Drafter>(std::move(drafter));
}

}  // namespace outrider::draft
