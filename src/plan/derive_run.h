// What our own engine decides beyond vLLM's words: types, blocks of the cache, threads, drafts of a block.
// The step from here to what runs (engine/derive_engine_plan.h) makes no choice of its own. Internal to the
// module.
#pragma once

#include "plan/derive_draft.h"

namespace outrider::plan {

// Fields of both roles and of the drafting; nothing under the rules of other engines. `reasons`: of the
// drafter's fields that differ from its target's.
void derive_run(Question& question, Reasons& reasons);

// Rows of a draft block that must run for `drafts` of them, as trained or as asked where that is more.
std::int64_t block_slots(const Question& question, std::int64_t drafts);
// Slots of a block that draft nothing.
std::int64_t idle_slots(const checkpoint::DrafterFacts& drafter);
// Positions that a request can grow to, drafts left out.
std::int64_t positions_of(const Question& question, const KnownRequest& request);
// Blocks that hold a number of positions.
std::int64_t blocks_for(std::int64_t positions, std::int64_t block);

// The number of drafts where it is not asked for, if it is ours to say.
std::optional<std::int64_t> derive_run_tokens(const Question& question);
void derive_run_drafting(const Question& question, DraftSettings& drafting);

}  // namespace outrider::plan
