#include "plan/layout.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "plan/bytes.h"
#include "plan/derive.h"

namespace outrider::plan {
namespace {

using checkpoint::KvGroup;
using checkpoint::KvKind;
using checkpoint::MoeFacts;

std::int64_t kv_heads_per_rank(const checkpoint::ModelFacts& model, const std::vector<KvGroup>& kv,
                               std::int64_t tensor) {
  if (!kv.empty() && keeps_latent_rows(kv)) return 1;  // one latent row for all heads, on every rank
  return std::max<std::int64_t>(1, model.kv_heads / tensor);
}

std::vector<std::int64_t> all_ranks(std::int64_t world) {
  std::vector<std::int64_t> ranks(static_cast<std::size_t>(world));
  for (std::int64_t rank = 0; rank < world; ++rank) ranks[static_cast<std::size_t>(rank)] = rank;
  return ranks;
}

ExpertSplit expert_split_of(const RoleSettings& settings, const MoeFacts& moe) {
  return {.experts = moe.experts,
          .redundant = settings.enable_eplb ? settings.num_redundant_experts : 0,
          .ranks = expert_ranks_of(settings),
          .round_robin = settings.expert_placement_strategy == "round_robin"};
}

void add_experts(RoleLayout& layout, const RoleSettings& settings, const MoeFacts* moe) {
  if (moe == nullptr) return;
  const ExpertSplit split = expert_split_of(settings, *moe);
  layout.expert_parallel_size = split.ranks;
  const std::int64_t slots = split.experts + split.redundant;
  if (slots % split.ranks == 0 && settings.enable_expert_parallel)
    layout.slots_per_rank = slots / split.ranks;
  if (split.experts % split.ranks == 0) {
    layout.experts_per_rank = Json(split.experts / split.ranks);
    return;
  }
  Json::Array each;
  for (std::int64_t rank = 0; rank < split.ranks; ++rank) {
    const ExpertSplit plain{
        .experts = split.experts, .redundant = 0, .ranks = split.ranks, .round_robin = split.round_robin};
    each.emplace_back(static_cast<std::int64_t>(experts_of_rank(plain, rank).size()));
  }
  layout.experts_per_rank = Json(std::move(each));
}

// Rows of the balancing file for some layers, in their order; empty where the file has no map.
std::vector<std::vector<std::int64_t>> file_rows(const Question& question,
                                                 const std::vector<std::int64_t>& layers) {
  std::vector<std::vector<std::int64_t>> rows;
  const auto& file = question.intent.eplb_file;
  if (!file || !file->assignments || file->assignments->empty()) return rows;
  for (const std::int64_t layer : layers) {
    const auto found = std::find_if(file->assignments->begin(), file->assignments->end(),
                                    [&](const auto& row) { return row.first == layer; });
    if (found == file->assignments->end()) return {};
    rows.push_back(found->second);
  }
  return rows;
}

std::vector<std::int64_t> target_moe_layers(const Question& question) {
  const auto& moe = question.model().moe;
  return moe ? std::vector<std::int64_t>(moe->layers.begin(), moe->layers.end())
             : std::vector<std::int64_t>{};
}

std::vector<std::int64_t> draft_moe_layers(const Question& question) {
  std::vector<std::int64_t> layers;
  for (std::int64_t i = 0; i < question.view->layer_count; ++i)
    layers.push_back(question.model().layer_count + i);
  return layers;
}

// The context group's and the expert group's place of every rank, and its bytes, by coordinates that differ.
class RankBuilder {
 public:
  RankBuilder(const Question& question, const RoleLayout& target)
      : question_(question),
        shape_(shape_of(question.target)),
        split_(target.layers_per_stage.value_or(std::vector<std::int64_t>{})) {
    target_spread_ = spread_of(question.target);
    if (question.target.enable_eplb)
      target_spread_.slot_rows = file_rows(question, target_moe_layers(question));
    if (!question.draft) return;
    draft_spread_ = spread_of(*question.draft);
    if (question.draft->enable_eplb)
      draft_spread_.slot_rows = file_rows(question, draft_moe_layers(question));
  }

  RankPlan build(std::int64_t rank) {
    const Coordinates at = coordinates_of(shape_, rank);
    RankGroups groups = groups_of(shape_, rank);
    RankPlan plan{.rank = rank,
                  .dp = at.dp,
                  .stage = at.stage,
                  .pcp = at.pcp,
                  .tp = at.tp,
                  .dcp = place_in(groups.dcp, rank),
                  .ep = place_in(groups.ep, rank),
                  .tp_group = std::move(groups.tp),
                  .pp_group = std::move(groups.pp),
                  .dp_group = std::move(groups.dp),
                  .ep_group = std::move(groups.ep),
                  .dcp_group = std::move(groups.dcp),
                  .first_layer = first_layer(at.stage),
                  .layer_count = split_[static_cast<std::size_t>(at.stage)],
                  .experts = {},
                  .first_slot = std::nullopt,
                  .slot_count = std::nullopt,
                  .draft_experts = {},
                  .draft_tp = std::nullopt,
                  .bytes = {}};
    add_experts_of(plan);
    add_draft(plan);
    add_bytes(plan);
    return plan;
  }

 private:
  WeightSpread spread_of(const RoleSettings& settings) const {
    return {.tensor = size_of(settings.tensor_parallel_size),
            .layers_per_stage = split_,
            .expert_parallel = settings.enable_expert_parallel,
            .expert_ranks = expert_ranks_of(settings),
            .redundant = settings.enable_eplb ? settings.num_redundant_experts : 0,
            .round_robin = settings.expert_placement_strategy == "round_robin",
            .slot_rows = {}};
  }
  std::int64_t first_layer(std::int64_t stage) const {
    std::int64_t first = 0;
    for (std::int64_t i = 0; i < stage; ++i) first += split_[static_cast<std::size_t>(i)];
    return first;
  }

  static std::vector<std::int64_t> held(const RoleSettings& settings, const MoeFacts& moe,
                                        const WeightSpread& spread, std::int64_t rank) {
    const ExpertSplit split = expert_split_of(settings, moe);
    if (spread.slot_rows.empty() || split.ranks < 1)
      return experts_of_rank(split, settings.enable_expert_parallel ? rank : 0);
    const std::vector<std::int64_t>& row = spread.slot_rows.front();
    const auto each = static_cast<std::ptrdiff_t>(row.size()) / split.ranks;
    return {row.begin() + rank * each, row.begin() + (rank + 1) * each};
  }

  void add_experts_of(RankPlan& plan) const {
    const auto& moe = question_.model().moe;
    const bool any = moe && std::any_of(moe->layers.begin(), moe->layers.end(), [&](int layer) {
                       return layer >= plan.first_layer && layer < plan.first_layer + plan.layer_count;
                     });
    if (!any || !question_.target.enable_expert_parallel) return;
    plan.experts = held(question_.target, *moe, target_spread_, plan.ep);
    plan.slot_count = static_cast<std::int64_t>(plan.experts.size());
    if (question_.target.enable_eplb) plan.first_slot = plan.ep * *plan.slot_count;
  }

  void add_draft(RankPlan& plan) const {
    plan.drafts = question_.draft && plan.stage == shape_.pp - 1;
    if (!plan.drafts) return;
    plan.draft_tp = plan.tp % draft_spread_.tensor;
    if (question_.view->moe != nullptr && question_.draft->enable_expert_parallel) {
      plan.draft_experts =
          held(*question_.draft, *question_.view->moe, draft_spread_, draft_expert_rank(plan));
    }
  }

  std::int64_t draft_expert_rank(const RankPlan& plan) const {
    const std::int64_t copy = plan.dp * shape_.pcp + plan.pcp;
    return (copy * draft_spread_.tensor + plan.tp % draft_spread_.tensor) %
           std::max<std::int64_t>(draft_spread_.expert_ranks, 1);
  }

  std::int64_t draft_weights(const RankPlan& plan) {
    const std::int64_t expert_rank = draft_expert_rank(plan);
    const auto known = draft_known_.find(expert_rank);
    if (known != draft_known_.end()) return known->second;
    const DraftView& view = *question_.view;
    std::int64_t bytes = 0;
    if (view.inside_target || view.native_elsewhere) {
      const checkpoint::Facts& file = view.inside_target ? question_.facts.target : *question_.facts.draft;
      bytes = weight_bytes(file, draft_spread_, shape_.pp - 1, expert_rank, true).total();
    } else {
      bytes = drafter_bytes(*question_.facts.draft, draft_spread_, expert_rank);
    }
    return draft_known_[expert_rank] = bytes;
  }

  KvBytes kv_of(const RoleSettings& settings, const std::vector<KvGroup>& groups, std::int64_t first,
                std::int64_t count, std::int64_t shard) const {
    KvSpread spread{
        .tensor = size_of(settings.tensor_parallel_size),
        .context = {.shards = size_of(settings.decode_context_parallel_size),
                    .interleave = size_of(settings.cp_kv_cache_interleave_size),
                    .block = size_of(settings.kv_block_size)},
        .element_bytes = kv_element_bytes(settings.kv_store_dtype.value_or(settings.kv_cache_dtype)),
        .latent_row_bytes = std::nullopt,
        .first_layer = first,
        .layer_count = count};
    // 512 values of one byte, 4 scales of 4, 64 rotated values of 2 (FlashMLA's row).
    if (settings.kv_cache_dtype == "fp8_ds_mla") spread.latent_row_bytes = 656;
    return kv_bytes(groups, spread, shard % spread.context.shards, settings.max_model_len.value_or(0));
  }

  void add_bytes(RankPlan& plan) {
    const std::int64_t expert_rank = question_.target.enable_expert_parallel ? plan.ep : 0;
    const auto key = std::make_tuple(plan.stage, expert_rank);
    auto known = target_known_.find(key);
    if (known == target_known_.end()) {
      known = target_known_
                  .emplace(key, weight_bytes(question_.facts.target, target_spread_, plan.stage, expert_rank,
                                             false))
                  .first;
    }
    RankBytes& bytes = plan.bytes;
    bytes.target = known->second.other;
    bytes.experts = known->second.experts;
    bytes.redundant = known->second.redundant;
    bytes.tied_copy = known->second.tied_copy;
    if (plan.drafts) bytes.draft = draft_weights(plan);
    bytes.total = bytes.target + bytes.experts + bytes.redundant + bytes.draft + bytes.tied_copy;
    const KvBytes kv =
        kv_of(question_.target, question_.model().kv, plan.first_layer, plan.layer_count, plan.dcp);
    bytes.kv_per_token = kv.per_token;
    bytes.kv_sequence = kv.sequence;
    if (plan.drafts) {
      const KvBytes draft = kv_of(*question_.draft, *question_.view->kv, 0, std::int64_t{1} << 30, plan.dcp);
      bytes.draft_kv_per_token = draft.per_token;
      bytes.draft_kv_sequence = draft.sequence;
    }
    bytes.buffers = buffers_of(plan);
  }

  // One layer's slots while experts move, and the taps that the drafter reads of one step.
  std::int64_t buffers_of(const RankPlan& plan) const {
    std::int64_t bytes = 0;
    const auto& moe = question_.model().moe;
    if (question_.target.enable_eplb && moe) {
      const auto here = std::count_if(moe->layers.begin(), moe->layers.end(), [&](int layer) {
        return layer >= plan.first_layer && layer < plan.first_layer + plan.layer_count;
      });
      if (here > 0) bytes += (plan.bytes.experts + plan.bytes.redundant) / here;
    }
    if (question_.drafting && question_.drafting->taps && plan.drafts) {
      const auto taps = static_cast<std::int64_t>(question_.drafting->taps->size());
      bytes +=
          taps * question_.model().hidden_width * 2 * question_.target.max_num_batched_tokens.value_or(2048);
    }
    return bytes;
  }

  const Question& question_;
  const ParallelShape shape_;
  const std::vector<std::int64_t> split_;
  WeightSpread target_spread_, draft_spread_;
  std::map<std::tuple<std::int64_t, std::int64_t>, WeightBytes> target_known_;
  std::map<std::int64_t, std::int64_t> draft_known_;
};

}  // namespace

RoleLayout derive_target_layout(const Question& question) {
  const ParallelShape shape = shape_of(question.target);
  RoleLayout layout;
  layout.world_size = shape.world();
  layout.ranks = all_ranks(layout.world_size);
  layout.layers_per_stage = derive_layer_split(question);
  layout.kv_heads_per_rank = kv_heads_per_rank(question.model(), question.model().kv, shape.tp);
  layout.head_dim = question.model().head_width;
  layout.max_position_embeddings = question.model().positions_max;
  add_experts(layout, question.target, question.model().moe ? &*question.model().moe : nullptr);
  return layout;
}

RoleLayout derive_draft_layout(const Question& question) {
  const ParallelShape shape = shape_of(question.target);
  const DraftView& view = *question.view;
  RoleLayout layout;
  layout.ranks = ranks_of_stage(shape, shape.pp - 1);
  layout.world_size = size_of(question.draft->tensor_parallel_size) * shape.dp;
  layout.stage = shape.pp - 1;
  layout.kv_heads_per_rank =
      kv_heads_per_rank(*view.model, *view.kv, size_of(question.draft->tensor_parallel_size));
  layout.head_dim = view.model->head_width;
  layout.max_position_embeddings = view.model->positions_max;
  if (layout.max_position_embeddings && question.draft->max_model_len) {  // a longer rotary table (B13)
    layout.max_position_embeddings =
        std::max(*layout.max_position_embeddings, *question.draft->max_model_len);
  }
  add_experts(layout, *question.draft, view.moe);
  return layout;
}

std::vector<RankPlan> derive_ranks(const Question& question, const RoleLayout& target) {
  RankBuilder builder(question, target);
  std::vector<RankPlan> ranks;
  ranks.reserve(static_cast<std::size_t>(target.world_size));
  for (std::int64_t rank = 0; rank < target.world_size; ++rank) ranks.push_back(builder.build(rank));
  return ranks;
}

PlanBytes derive_bytes(const Question& question, const std::vector<RankPlan>& ranks) {
  PlanBytes bytes;
  bytes.bytes_on_disk = placed_bytes_on_disk(question.facts.target, false);
  if (question.draft) {
    const DraftView& view = *question.view;
    if (view.inside_target) {
      bytes.bytes_on_disk += placed_bytes_on_disk(question.facts.target, true);
    } else {
      bytes.bytes_on_disk += placed_bytes_on_disk(*question.facts.draft, view.native_elsewhere);
    }
  }
  bytes.excluded_bytes = unplaced_bytes(question.facts.target);
  for (const RankPlan& rank : ranks) bytes.sum_over_ranks += rank.bytes.total;
  bytes.replica_bytes = bytes.sum_over_ranks - bytes.bytes_on_disk;
  return bytes;
}

}  // namespace outrider::plan
