// The plan: what will run, decided before anything exists. plan() is pure: the same arguments give the same
// answer on every rank and in every test; it opens no file and reads no environment. What is wrong with what
// was asked comes out as the whole list of problems, never as the first one. Settings of the drafter are
// derived from the target's field by field (settings.h); what was changed, and why, is in `derivations`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "checkpoint/facts.h"
#include "plan/intent.h"
#include "plan/machine.h"
#include "plan/settings.h"

namespace outrider::plan {

// One thing that is wrong. `field`: "target." or "draft." and vLLM's name of the setting, "*.config.KEY" for
// a fact of a config.json, "eplb.KEY" for the balancing file, "flag:--name" for an unknown flag
// (docs/plan.md).
struct Problem {
  std::string rule;  // id in docs/refusals.md
  std::string field;
  std::string value;  // as found; empty: nothing to show
  std::string message;
  std::string remedy;
  std::string reference;  // the public issue or error of the engine whose rules judge
  friend bool operator==(const Problem&, const Problem&) = default;
};

struct PlanRefusal {
  std::vector<Problem>
      problems;  // never empty; sorted by rule as the table has them, then in order of finding
  friend bool operator==(const PlanRefusal&, const PlanRefusal&) = default;
};

// A value that was not asked for in these words. `from` equals `to` where a thing is only worth knowing.
struct Derivation {
  std::string field;
  Json from, to;
  std::string why;
  friend bool operator==(const Derivation&, const Derivation&) = default;
};

// What follows from the settings and the shape, for either role. Absent: has no meaning for this role.
struct RoleLayout {
  std::int64_t world_size = 1;
  std::vector<std::int64_t> ranks;  // that hold a part of this role
  std::optional<std::vector<std::int64_t>> layers_per_stage;
  std::optional<std::int64_t> stage;  // of the drafter
  std::int64_t kv_heads_per_rank = 1;
  std::optional<std::int64_t> expert_parallel_size;
  std::optional<Json> experts_per_rank;  // a number, or one per expert rank where they differ
  std::optional<std::int64_t> slots_per_rank;
  std::optional<std::int64_t> head_dim;
  std::optional<std::int64_t> max_position_embeddings;
  friend bool operator==(const RoleLayout&, const RoleLayout&) = default;
};

// What only a drafter has. All its own.
struct DraftSettings {
  std::string method;
  std::int64_t num_speculative_tokens = 0;
  std::optional<std::int64_t> block_size, drafts_per_block;  // rows and drafts of the block
  std::string draft_sample_method = "greedy", rejection_sample_method = "standard";
  std::optional<bool> enable_adaptive_verification;
  // Of our own engine: rows that a block runs, which are more than trained where the count needs more; the
  // least confidence that is verified; chances of forced acceptance; suffixes that prompt lookup tries.
  std::optional<std::int64_t> block_slots;
  std::optional<double> confidence_threshold;
  std::optional<std::vector<double>> synthetic_acceptance_rates;
  std::optional<std::int64_t> prompt_lookup_min, prompt_lookup_max;
  std::optional<std::vector<std::int64_t>> taps, tap_stages, layer_ids;
  std::optional<std::int64_t> draft_vocab_size;
  std::optional<std::string> id_map;  // "d2t", or "none"
  std::optional<bool> own_embedding, own_head;
  std::optional<std::int64_t> needs_target_embedding_on_stage;
  bool kv_replicated = false;
  friend bool operator==(const DraftSettings&, const DraftSettings&) = default;
};

struct RolePlan {
  RoleSettings settings;
  RoleLayout layout;
  friend bool operator==(const RolePlan&, const RolePlan&) = default;
};

struct DraftPlan {
  DraftSettings draft;
  std::optional<RolePlan> role;  // absent for drafters without weights (ngram, suffix)
  friend bool operator==(const DraftPlan&, const DraftPlan&) = default;
};

// Bytes of one rank. `target`: all weights but routed experts; `experts`: first copies; `redundant`: further
// slots; `draft`: everything of the drafter, its own redundant slots included; `tied_copy`: a tied table's
// second place.
struct RankBytes {
  std::int64_t target = 0, experts = 0, redundant = 0, draft = 0, tied_copy = 0, total = 0;
  std::int64_t kv_per_token = 0,
               draft_kv_per_token = 0;  // of unbounded context, one sequence, before context sharding
  std::int64_t kv_sequence = 0,
               draft_kv_sequence = 0;  // of one sequence of max_model_len tokens on this rank
  std::int64_t buffers = 0;            // moving experts, relayed taps
  std::int64_t resident =
      0;  // what a process of our own engine needs (memory.h); 0 under the rules of others
  friend bool operator==(const RankBytes&, const RankBytes&) = default;
};

struct RankPlan {
  std::int64_t rank, dp, stage, pcp, tp, dcp, ep;  // coordinates; dcp, ep: place in that group
  std::vector<std::int64_t> tp_group, pp_group, dp_group, ep_group, dcp_group;
  std::int64_t first_layer, layer_count;
  std::vector<std::int64_t> experts;  // of one MoE layer; with a map that differs by layer: of the first
  std::optional<std::int64_t> first_slot, slot_count;
  bool drafts = false;
  std::vector<std::int64_t> draft_experts;
  std::optional<std::int64_t> draft_tp;
  RankBytes bytes;
  friend bool operator==(const RankPlan&, const RankPlan&) = default;
};

struct PlanBytes {
  std::int64_t bytes_on_disk = 0, sum_over_ranks = 0, replica_bytes = 0, excluded_bytes = 0;
  friend bool operator==(const PlanBytes&, const PlanBytes&) = default;
};

struct Plan {
  Engine engine = Engine::Outrider;
  RolePlan target;
  std::optional<DraftPlan> draft;
  std::vector<RankPlan> ranks;
  PlanBytes bytes;
  std::vector<Derivation> derivations;
  std::string fingerprint;  // over everything above: equal on all ranks, or they do not run together
  friend bool operator==(const Plan&, const Plan&) = default;
};

// A key of hf_overrides that reaches no setting of the target, and where it would.
struct StrayOverride {
  std::string key;  // "max_position_embeddings", "text_config.hiden_size"
  std::string remedy;
  friend bool operator==(const StrayOverride&, const StrayOverride&) = default;
};

// The facts of both checkpoints. `draft` is absent where there is none, or where it is inside the target's.
struct ModelsFacts {
  checkpoint::Facts target;
  std::optional<checkpoint::Facts> draft;
  bool draft_is_target = false;  // the drafter's path is the target's
  std::vector<StrayOverride> stray_overrides = {};
  // Tensor ranks that a folder's files were cut for, where they are cut (vLLM's sharded_state).
  std::optional<std::int64_t> target_sharded_for = {}, draft_sharded_for = {};
};

base::Result<Plan, PlanRefusal> plan(const Intent& intent, const ModelsFacts& facts, const Machine& machine);

}  // namespace outrider::plan

template <>
struct outrider::base::Fields<outrider::plan::RoleLayout> {
  using L = plan::RoleLayout;
  static constexpr std::tuple list = {
      field("world_size", &L::world_size, ""),
      field("ranks", &L::ranks, ""),
      field("layers_per_stage", &L::layers_per_stage, ""),
      field("stage", &L::stage, ""),
      field("kv_heads_per_rank", &L::kv_heads_per_rank, ""),
      field("expert_parallel_size", &L::expert_parallel_size, ""),
      field("experts_per_rank", &L::experts_per_rank, ""),
      field("slots_per_rank", &L::slots_per_rank, ""),
      field("head_dim", &L::head_dim, ""),
      field("max_position_embeddings", &L::max_position_embeddings, ""),
  };
};
template <>
struct outrider::base::Fields<outrider::plan::DraftSettings> {
  using D = plan::DraftSettings;
  static constexpr std::tuple list = {
      field("method", &D::method, ""),
      field("num_speculative_tokens", &D::num_speculative_tokens, ""),
      field("block_size", &D::block_size, ""),
      field("drafts_per_block", &D::drafts_per_block, ""),
      field("draft_sample_method", &D::draft_sample_method, ""),
      field("rejection_sample_method", &D::rejection_sample_method, ""),
      field("enable_adaptive_verification", &D::enable_adaptive_verification, ""),
      field("block_slots", &D::block_slots, ""),
      field("confidence_threshold", &D::confidence_threshold, ""),
      field("synthetic_acceptance_rates", &D::synthetic_acceptance_rates, ""),
      field("prompt_lookup_min", &D::prompt_lookup_min, ""),
      field("prompt_lookup_max", &D::prompt_lookup_max, ""),
      field("taps", &D::taps, ""),
      field("tap_stages", &D::tap_stages, ""),
      field("layer_ids", &D::layer_ids, ""),
      field("draft_vocab_size", &D::draft_vocab_size, ""),
      field("id_map", &D::id_map, ""),
      field("own_embedding", &D::own_embedding, ""),
      field("own_head", &D::own_head, ""),
      field("needs_target_embedding_on_stage", &D::needs_target_embedding_on_stage, ""),
      field("kv_replicated", &D::kv_replicated, ""),
  };
};
template <>
struct outrider::base::Fields<outrider::plan::RankBytes> {
  using B = plan::RankBytes;
  static constexpr std::tuple list = {
      field("target", &B::target, ""),
      field("experts", &B::experts, ""),
      field("redundant", &B::redundant, ""),
      field("draft", &B::draft, ""),
      field("tied_copy", &B::tied_copy, ""),
      field("total", &B::total, ""),
      field("kv_per_token", &B::kv_per_token, ""),
      field("draft_kv_per_token", &B::draft_kv_per_token, ""),
      field("kv_sequence", &B::kv_sequence, ""),
      field("draft_kv_sequence", &B::draft_kv_sequence, ""),
      field("buffers", &B::buffers, ""),
      field("resident", &B::resident, ""),
  };
};
template <>
struct outrider::base::Fields<outrider::plan::RankPlan> {
  using R = plan::RankPlan;
  static constexpr std::tuple list = {
      field("rank", &R::rank, ""),
      field("dp", &R::dp, ""),
      field("stage", &R::stage, ""),
      field("pcp", &R::pcp, ""),
      field("tp", &R::tp, ""),
      field("dcp", &R::dcp, ""),
      field("ep", &R::ep, ""),
      field("tp_group", &R::tp_group, ""),
      field("pp_group", &R::pp_group, ""),
      field("dp_group", &R::dp_group, ""),
      field("ep_group", &R::ep_group, ""),
      field("dcp_group", &R::dcp_group, ""),
      field("first_layer", &R::first_layer, ""),
      field("layer_count", &R::layer_count, ""),
      field("experts", &R::experts, ""),
      field("first_slot", &R::first_slot, ""),
      field("slot_count", &R::slot_count, ""),
      field("drafts", &R::drafts, ""),
      field("draft_experts", &R::draft_experts, ""),
      field("draft_tp", &R::draft_tp, ""),
      field("bytes", &R::bytes, ""),
  };
};
template <>
struct outrider::base::Fields<outrider::plan::PlanBytes> {
  using B = plan::PlanBytes;
  static constexpr std::tuple list = {
      field("bytes_on_disk", &B::bytes_on_disk, ""),
      field("sum_over_ranks", &B::sum_over_ranks, ""),
      field("replica_bytes", &B::replica_bytes, ""),
      field("excluded_bytes", &B::excluded_bytes, ""),
  };
};
OUTRIDER_LISTS_EVERY_FIELD(outrider::plan::RoleLayout);
OUTRIDER_LISTS_EVERY_FIELD(outrider::plan::DraftSettings);
OUTRIDER_LISTS_EVERY_FIELD(outrider::plan::RankBytes);
OUTRIDER_LISTS_EVERY_FIELD(outrider::plan::RankPlan);
OUTRIDER_LISTS_EVERY_FIELD(outrider::plan::PlanBytes);
