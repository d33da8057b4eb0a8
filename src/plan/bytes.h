// Bytes per rank, exact to the tensor: the sum over all ranks is what is on disk plus named replicas. Cuts as
// checkpoint/facts.h names them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "checkpoint/facts.h"
#include "plan/splits.h"

namespace outrider::plan {

// How a role is spread; sizes were checked.
struct WeightSpread {
  std::int64_t tensor = 1;                     // ranks that share a layer
  std::vector<std::int64_t> layers_per_stage;  // of the target
  bool expert_parallel = false;
  std::int64_t expert_ranks = 1;
  std::int64_t redundant = 0;
  bool round_robin = false;
  // Slots of each MoE layer by a file, in layer order; empty: the default map. `slot_rows[i][slot]` = expert.
  std::vector<std::vector<std::int64_t>> slot_rows;
};

struct WeightBytes {
  std::int64_t other = 0, experts = 0, redundant = 0, tied_copy = 0;
  std::int64_t total() const { return other + experts + redundant + tied_copy; }
};

// A target's weights on a rank of `stage` that is number `expert_rank` among the expert ranks (drafter ==
// false), or those of the drafter inside its checkpoint, which lives on the last stage. Copies of the
// target's embedding and head inside a drafter are not held twice; Unplaced tensors are left out.
WeightBytes weight_bytes(const checkpoint::Facts& facts, const WeightSpread& spread, std::int64_t stage,
                         std::int64_t expert_rank, bool drafter);

// A drafter with a checkpoint of its own, whole on the ranks that share it.
std::int64_t drafter_bytes(const checkpoint::Facts& facts, const WeightSpread& spread,
                           std::int64_t expert_rank);

// On disk: what weight_bytes divides, once. Unplaced: what it leaves out.
std::int64_t placed_bytes_on_disk(const checkpoint::Facts& facts, bool drafter);
std::int64_t unplaced_bytes(const checkpoint::Facts& facts);

// Keys and values of one sequence.
struct KvSpread {
  std::int64_t tensor = 1;
  ContextSplit context;
  std::int64_t element_bytes = 2;
  std::optional<std::int64_t> latent_row_bytes;   // a packed type's bytes for one latent row
  std::int64_t first_layer = 0, layer_count = 0;  // of this rank's stage
};
struct KvBytes {
  std::int64_t per_token =
      0;  // unbounded groups, one more token, before context sharding; compressed groups in proportion
  std::int64_t sequence = 0;  // of `length` tokens, on context shard `shard`
};
KvBytes kv_bytes(const std::vector<checkpoint::KvGroup>& groups, const KvSpread& spread, std::int64_t shard,
                 std::int64_t length);

// Bytes of an element of a kv-cache type; 2 where it says "auto".
std::int64_t kv_element_bytes(std::string_view type);

}  // namespace outrider::plan
