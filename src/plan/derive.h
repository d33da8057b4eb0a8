// Settings of both roles, from what was asked and what the files say. Cannot fail: what is wrong is for the
// rules, which see the same values. The drafter's settings are a copy of the target's with overrides; every
// difference is in the list of derivations with its reason.
#pragma once

#include "plan/question.h"

namespace outrider::plan {

MethodChoice derive_method(const Intent& intent, const ModelsFacts& facts);
std::optional<DraftView> derive_view(const Intent& intent, const ModelsFacts& facts,
                                     const MethodChoice& method);

// Everything that rules need.
Question derive_question(const Intent& intent, const ModelsFacts& facts, const Machine& machine);

// Why the drafter's context cannot be shared by `shards` ranks, or nothing if it can.
std::optional<std::string> why_not_sharded(const std::vector<checkpoint::KvGroup>& kv, std::int64_t heads,
                                           std::int64_t tensor, std::int64_t shards);

// Kernels of routed experts that need quantised weights.
bool needs_quantised_experts(std::string_view moe_backend);
bool needs_expert_parallel(std::string_view moe_backend);
// Packed cache types that mean one latent row.
bool is_packed_latent(std::string_view kv_cache_dtype);
bool keeps_latent_rows(const std::vector<checkpoint::KvGroup>& kv);
// Loaders that every rank of a group enters together.
bool is_collective_loader(std::string_view load_format);
// The drafter's loader that the user named, if any.
std::optional<std::string> asked_draft_loader(const Intent& intent);
// Has a row for the drafter's layers.
bool file_has_draft_rows(const EplbFile& file, std::int64_t target_layers);

// Split of the target's layers: the user's, where it fits, else the default.
std::vector<std::int64_t> derive_layer_split(const Question& question);
std::optional<std::vector<std::int64_t>> parse_partition(std::string_view text);

}  // namespace outrider::plan
