#include "plan/splits.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace outrider::plan {

std::vector<std::int64_t> split_layers(std::int64_t layers, std::int64_t stages) {
  OUTRIDER_CHECK(layers >= 0 && stages >= 1);
  std::vector<std::int64_t> split(static_cast<std::size_t>(stages), layers / stages);
  for (std::int64_t i = 0; i < layers % stages; ++i) ++split[static_cast<std::size_t>(stages - 2 - i)];
  return split;
}

std::int64_t stage_of_layer(const std::vector<std::int64_t>& split, std::int64_t layer) {
  std::int64_t end = 0;
  for (std::size_t stage = 0; stage < split.size(); ++stage) {
    end += split[stage];
    if (layer < end) return static_cast<std::int64_t>(stage);
  }
  return static_cast<std::int64_t>(split.size()) - 1;  // a drafter's layers stand behind the last
}

Coordinates coordinates_of(const ParallelShape& shape, std::int64_t rank) {
  return {.dp = rank / (shape.tp * shape.pcp * shape.pp),
          .stage = rank / (shape.tp * shape.pcp) % shape.pp,
          .pcp = rank / shape.tp % shape.pcp,
          .tp = rank % shape.tp};
}

std::int64_t rank_at(const ParallelShape& shape, const Coordinates& at) {
  return ((at.dp * shape.pp + at.stage) * shape.pcp + at.pcp) * shape.tp + at.tp;
}

RankGroups groups_of(const ParallelShape& shape, std::int64_t rank) {
  const Coordinates own = coordinates_of(shape, rank);
  const auto with = [&](auto change) {
    Coordinates at = own;
    change(at);
    return rank_at(shape, at);
  };
  RankGroups groups;
  for (std::int64_t tp = 0; tp < shape.tp; ++tp)
    groups.tp.push_back(with([&](Coordinates& at) { at.tp = tp; }));
  for (std::int64_t pp = 0; pp < shape.pp; ++pp)
    groups.pp.push_back(with([&](Coordinates& at) { at.stage = pp; }));
  for (std::int64_t dp = 0; dp < shape.dp; ++dp)
    groups.dp.push_back(with([&](Coordinates& at) { at.dp = dp; }));
  groups.ep = ranks_of_stage(shape, own.stage);
  // Context groups: the ranks of one copy and stage, prompt shards fastest, cut into runs. One prompt shard:
  // runs of tensor ranks.
  std::vector<std::int64_t> order;
  for (std::int64_t tp = 0; tp < shape.tp; ++tp) {
    for (std::int64_t pcp = 0; pcp < shape.pcp; ++pcp) {
      order.push_back(with([&](Coordinates& at) { at.tp = tp, at.pcp = pcp; }));
    }
  }
  const std::int64_t first = place_in(order, rank) / shape.dcp * shape.dcp;
  const std::int64_t last = std::min(first + shape.dcp, static_cast<std::int64_t>(order.size()));
  groups.dcp.assign(order.begin() + first, order.begin() + last);
  return groups;
}

std::vector<std::int64_t> ranks_of_stage(const ParallelShape& shape, std::int64_t stage) {
  std::vector<std::int64_t> ranks;
  ranks.reserve(static_cast<std::size_t>(shape.expert_ranks()));
  for (std::int64_t dp = 0; dp < shape.dp; ++dp) {
    const std::int64_t first = rank_at(shape, {.dp = dp, .stage = stage, .pcp = 0, .tp = 0});
    for (std::int64_t i = 0; i < shape.pcp * shape.tp; ++i) ranks.push_back(first + i);
  }
  return ranks;
}

std::int64_t place_in(const std::vector<std::int64_t>& group, std::int64_t rank) {
  const auto found = std::find(group.begin(), group.end(), rank);
  OUTRIDER_CHECK(found != group.end());
  return found - group.begin();
}

std::vector<std::int64_t> experts_of_rank(const ExpertSplit& split, std::int64_t rank) {
  std::vector<std::int64_t> held;
  if (split.round_robin) {
    for (std::int64_t expert = rank; expert < split.experts; expert += split.ranks) held.push_back(expert);
    return held;
  }
  const std::int64_t slots = split.experts + split.redundant;
  const std::int64_t each = slots / split.ranks, more = slots % split.ranks;
  const std::int64_t first = rank * each + std::min(rank, more);
  for (std::int64_t slot = first; slot < first + each + (rank < more ? 1 : 0); ++slot) {
    held.push_back(slot < split.experts ? slot : (slot - split.experts) % split.experts);
  }
  return held;
}

NearestRedundant nearest_redundant(std::int64_t experts, std::int64_t redundant, std::int64_t ranks) {
  const std::int64_t above = (experts + redundant + ranks - 1) / ranks * ranks - experts;
  const std::int64_t below =
      above == redundant ? above - ranks : (experts + redundant) / ranks * ranks - experts;
  return {.below = std::max<std::int64_t>(below, -1) < 0 ? -1 : below, .above = above};
}

std::int64_t scaled_redundant(std::int64_t experts, std::int64_t redundant, std::int64_t from_ranks,
                              std::int64_t to_ranks) {
  return (experts + redundant) * to_ranks / from_ranks - experts;
}

std::int64_t owner_of(const ContextSplit& split, std::int64_t position) {
  return position % (split.block * split.shards) / split.interleave % split.shards;
}

std::int64_t local_slot_of(const ContextSplit& split, std::int64_t position) {
  const std::int64_t block = position / (split.block * split.shards),
                     inside = position % (split.block * split.shards);
  return block * split.block + inside / (split.interleave * split.shards) * split.interleave +
         position % split.interleave;
}

std::int64_t local_length(const ContextSplit& split, std::int64_t shard, std::int64_t length) {
  const std::int64_t round = split.shards * split.interleave;
  const std::int64_t rest = length % round - shard * split.interleave;
  return length / round * split.interleave + std::clamp<std::int64_t>(rest, 0, split.interleave);
}

ContextShare merge_shares(const std::vector<ContextShare>& shares) {
  OUTRIDER_CHECK(!shares.empty());
  double largest = -HUGE_VAL;
  for (const ContextShare& share : shares) largest = std::max(largest, share.lse);
  ContextShare merged{.lse = largest, .out = std::vector<double>(shares.front().out.size(), 0.0)};
  if (largest == -HUGE_VAL) return merged;  // no tokens anywhere
  double sum = 0;
  for (const ContextShare& share : shares) {
    if (share.lse == -HUGE_VAL) continue;
    OUTRIDER_CHECK(share.out.size() == merged.out.size());
    const double weight = std::exp(share.lse - largest);
    sum += weight;
    for (std::size_t i = 0; i < share.out.size(); ++i) merged.out[i] += weight * share.out[i];
  }
  for (double& value : merged.out) value /= sum;
  merged.lse = largest + std::log(sum);
  return merged;
}

std::optional<std::int64_t> even_share(std::int64_t width, std::int64_t ranks) {
  OUTRIDER_CHECK(ranks >= 1);
  return width % ranks == 0 ? std::optional(width / ranks) : std::nullopt;
}

}  // namespace outrider::plan
