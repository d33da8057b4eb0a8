#include "plan/bytes.h"

#include <algorithm>
#include <set>

namespace outrider::plan {
namespace {

using checkpoint::Cut;
using checkpoint::Facts;
using checkpoint::Place;
using checkpoint::TensorGroup;

std::int64_t stage_of(const TensorGroup& group, const WeightSpread& spread, bool drafter) {
  const auto last = static_cast<std::int64_t>(spread.layers_per_stage.size()) - 1;
  if (drafter || group.place == Place::LastStage) return last;
  if (group.place == Place::FirstStage) return 0;
  return stage_of_layer(spread.layers_per_stage, group.layer.value_or(0));
}

// Rounded up: where rules let an uneven cut pass, the largest share is told.
std::int64_t share(std::int64_t bytes, std::int64_t parts) { return (bytes + parts - 1) / parts; }

std::int64_t share_of(const TensorGroup& group, std::int64_t tensor) {
  const std::int64_t bytes = group.bytes() * group.count;
  switch (group.cut) {
    case Cut::Replicated:
      return bytes;
    case Cut::Unplaced:
      return 0;
    case Cut::KvHeads:
      return share(bytes, std::min<std::int64_t>(tensor, std::max(group.unit_count, 1)));
    case Cut::Vocabulary:
    case Cut::Column:
    case Cut::Row:
    case Cut::QueryHeads:
    case Cut::OutputGroups:
    case Cut::Expert:
      return share(bytes, tensor);
  }
  return bytes;
}

struct Held {
  std::int64_t first_copies = 0, further = 0;
};

// Slots of a rank: how many are the first copy of their expert over all slots, and how many are not.
Held held_of_row(const std::vector<std::int64_t>& row, std::int64_t ranks, std::int64_t rank) {
  const std::int64_t each = static_cast<std::int64_t>(row.size()) / std::max<std::int64_t>(ranks, 1);
  std::set<std::int64_t> seen;
  Held held;
  for (std::int64_t slot = 0; slot < static_cast<std::int64_t>(row.size()); ++slot) {
    const bool first = seen.insert(row[static_cast<std::size_t>(slot)]).second;
    if (slot / std::max<std::int64_t>(each, 1) == rank) ++(first ? held.first_copies : held.further);
  }
  return held;
}

Held held_by_default(std::int64_t experts, const WeightSpread& spread, std::int64_t rank) {
  const ExpertSplit split{.experts = experts,
                          .redundant = spread.redundant,
                          .ranks = spread.expert_ranks,
                          .round_robin = spread.round_robin && spread.redundant == 0};
  const auto held = static_cast<std::int64_t>(experts_of_rank(split, rank).size());
  if (spread.redundant == 0) return {.first_copies = held, .further = 0};
  const std::int64_t each = (experts + spread.redundant) / split.ranks;
  const std::int64_t first_copies = std::clamp<std::int64_t>(experts - rank * each, 0, held);
  return {.first_copies = first_copies, .further = held - first_copies};
}

// Held experts per layer are the same for all tensors of the layer: computed once for each.
class HeldExperts {
 public:
  HeldExperts(const WeightSpread& spread, std::int64_t expert_rank, const std::vector<int>& moe_layers)
      : spread_(spread), rank_(expert_rank), layers_(moe_layers) {
    for (const auto& row : spread.slot_rows) rows_.push_back(held_of_row(row, spread.expert_ranks, rank_));
  }
  Held of(const TensorGroup& group) {
    if (!rows_.empty()) {
      const auto at = std::find(layers_.begin(), layers_.end(), group.layer.value_or(-1));
      const auto index = static_cast<std::size_t>(at - layers_.begin());
      return rows_[std::min(index, rows_.size() - 1)];
    }
    if (experts_ != group.count) {
      experts_ = group.count;
      default_ = held_by_default(group.count, spread_, rank_);
    }
    return default_;
  }

 private:
  const WeightSpread& spread_;
  std::int64_t rank_;
  const std::vector<int>& layers_;
  std::vector<Held> rows_;
  std::int64_t experts_ = -1;
  Held default_;
};

void add_group(const TensorGroup& group, const WeightSpread& spread, HeldExperts& held, WeightBytes& bytes) {
  if (group.cut != Cut::Expert) {
    bytes.other += share_of(group, spread.tensor);
  } else if (!spread.expert_parallel) {
    bytes.experts += share_of(group, spread.tensor);
  } else {
    const Held counts = held.of(group);
    bytes.experts += counts.first_copies * group.bytes();
    bytes.redundant += counts.further * group.bytes();
  }
}

const std::vector<int>& moe_layers_of(const Facts& facts, bool drafter) {
  static const std::vector<int> kNone;
  if (drafter && facts.drafter && facts.drafter->inside_target) return facts.drafter->layer_ids;
  return facts.model.moe ? facts.model.moe->layers : kNone;
}

}  // namespace

WeightBytes weight_bytes(const Facts& facts, const WeightSpread& spread, std::int64_t stage,
                         std::int64_t expert_rank, bool drafter) {
  HeldExperts held(spread, expert_rank, moe_layers_of(facts, drafter));
  const auto stages = static_cast<std::int64_t>(spread.layers_per_stage.size());
  WeightBytes bytes;
  for (const TensorGroup& group : facts.tensors) {
    if (group.drafter != drafter || group.alias || group.optional) continue;
    if (stage_of(group, spread, drafter) == stage) add_group(group, spread, held, bytes);
    // A tied table is needed at both ends of the pipeline.
    const bool table = group.cut == Cut::Vocabulary && group.place == Place::FirstStage;
    if (!drafter && facts.model.tied_head && table && stages > 1 && stage == stages - 1) {
      bytes.tied_copy += share_of(group, spread.tensor);
    }
  }
  return bytes;
}

std::int64_t drafter_bytes(const Facts& facts, const WeightSpread& spread, std::int64_t expert_rank) {
  HeldExperts held(spread, expert_rank, moe_layers_of(facts, false));
  WeightBytes bytes;
  for (const TensorGroup& group : facts.tensors) {
    if (!group.alias && !group.optional) add_group(group, spread, held, bytes);
  }
  return bytes.total();
}

std::int64_t placed_bytes_on_disk(const Facts& facts, bool drafter) {
  std::int64_t bytes = 0;
  for (const TensorGroup& group : facts.tensors) {
    if (group.drafter == drafter && !group.alias && !group.optional && group.cut != Cut::Unplaced) {
      bytes += group.bytes() * group.count;
    }
  }
  return bytes;
}

std::int64_t unplaced_bytes(const Facts& facts) {
  std::int64_t bytes = 0;
  for (const TensorGroup& group : facts.tensors) {
    if (group.cut == Cut::Unplaced) bytes += group.bytes() * group.count;
  }
  return bytes;
}

KvBytes kv_bytes(const std::vector<checkpoint::KvGroup>& groups, const KvSpread& spread, std::int64_t shard,
                 std::int64_t length) {
  KvBytes bytes;
  for (const checkpoint::KvGroup& group : groups) {
    if (group.kind == checkpoint::KvKind::Recurrent) continue;
    const auto layers = std::count_if(group.layers.begin(), group.layers.end(), [&](int layer) {
      return layer >= spread.first_layer && layer < spread.first_layer + spread.layer_count;
    });
    std::int64_t elements = group.elements;
    std::int64_t row_bytes = elements * spread.element_bytes;
    if (group.kind == checkpoint::KvKind::PerHead) {
      const std::int64_t heads = std::max(group.kv_heads, 1);
      row_bytes = elements / heads * std::max<std::int64_t>(heads / spread.tensor, 1) * spread.element_bytes;
    } else if (spread.latent_row_bytes) {
      row_bytes = *spread.latent_row_bytes;
    }
    const std::int64_t each = row_bytes * layers, per = std::max<std::int64_t>(group.per_tokens, 1);
    if (group.window) {  // rings are not sharded
      bytes.sequence += each * (std::min(length, *group.window) / per);
      continue;
    }
    bytes.per_token += each / per;
    bytes.sequence += each * (local_length(spread.context, shard, length) / per);
  }
  return bytes;
}

std::int64_t kv_element_bytes(std::string_view type) {
  if (type.starts_with("fp8") || type.starts_with("int8")) return 1;
  if (type == "float32") return 4;
  return 2;  // auto, bfloat16, float16; packed 4-bit types are rounded up
}

}  // namespace outrider::plan
