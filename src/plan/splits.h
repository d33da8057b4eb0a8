// Who has what: layers over stages, ranks in groups, experts over ranks, positions over context shards.
// Integer arithmetic on sizes that are at least 1; callers see to that.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace outrider::plan {

// floor(layers / stages) each; what is left over goes one each to the stages before the last, from the back.
std::vector<std::int64_t> split_layers(std::int64_t layers, std::int64_t stages);
// The stage that holds a layer.
std::int64_t stage_of_layer(const std::vector<std::int64_t>& split, std::int64_t layer);

// rank = ((dp * pp + stage) * pcp + pcp_rank) * tp + tp_rank.
struct ParallelShape {
  std::int64_t dp = 1, pp = 1, pcp = 1, tp = 1, dcp = 1;
  std::int64_t world() const { return dp * pp * pcp * tp; }
  std::int64_t expert_ranks() const { return dp * pcp * tp; }  // of one stage
  friend bool operator==(const ParallelShape&, const ParallelShape&) = default;
};
struct Coordinates {
  std::int64_t dp, stage, pcp, tp;
};
Coordinates coordinates_of(const ParallelShape& shape, std::int64_t rank);
std::int64_t rank_at(const ParallelShape& shape, const Coordinates& at);

struct RankGroups {
  std::vector<std::int64_t> tp, pp, dp, ep, dcp;  // members in the group's order, the rank itself among them
};
RankGroups groups_of(const ParallelShape& shape, std::int64_t rank);
std::vector<std::int64_t> ranks_of_stage(const ParallelShape& shape, std::int64_t stage);
// Place of a rank in a group that it is a member of.
std::int64_t place_in(const std::vector<std::int64_t>& group, std::int64_t rank);

// The experts of one rank, in the order of its slots. Linear: contiguous; without redundant slots the first E
// mod ranks hold one more; with them slot p holds expert p, or (p - E) mod E. Round robin: rank, rank +
// ranks, ...; only without redundant slots.
struct ExpertSplit {
  std::int64_t experts, redundant = 0, ranks = 1;
  bool round_robin = false;
};
std::vector<std::int64_t> experts_of_rank(const ExpertSplit& split, std::int64_t rank);
// Redundant slots that make experts + redundant a multiple of `ranks`: the nearest at or above `redundant`,
// and the one below it where there is one.
struct NearestRedundant {
  std::int64_t below;  // -1: none
  std::int64_t above;
};
NearestRedundant nearest_redundant(std::int64_t experts, std::int64_t redundant, std::int64_t ranks);
// Redundant experts after an elastic change of ranks; negative: impossible.
std::int64_t scaled_redundant(std::int64_t experts, std::int64_t redundant, std::int64_t from_ranks,
                              std::int64_t to_ranks);

// Decode context parallelism: position p is kept by one of `shards` ranks, `interleave` positions in a row
// each.
struct ContextSplit {
  std::int64_t shards = 1, interleave = 1, block = 16;  // tokens of a rank's block
};
std::int64_t owner_of(const ContextSplit& split, std::int64_t position);
std::int64_t local_slot_of(const ContextSplit& split,
                           std::int64_t position);  // on its owner, with blocks 0, 1, 2, ...
std::int64_t local_length(const ContextSplit& split, std::int64_t shard, std::int64_t length);

// Attention of one query head over its context's shards, each with its own softmax: the whole of them is
// sum(w * out) / sum(w) with w = exp(lse - largest). Log-sum-exps are natural; a shard without tokens has
// minus infinity and takes no part, whatever its output holds.
struct ContextShare {
  double lse;
  std::vector<double> out;
};
ContextShare merge_shares(const std::vector<ContextShare>& shares);  // at least one; outputs of one length

// Rows or columns of each of `ranks` ranks; absent where they do not divide.
std::optional<std::int64_t> even_share(std::int64_t width, std::int64_t ranks);

}  // namespace outrider::plan
