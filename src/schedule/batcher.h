// What the next step computes, decided from numbers alone: continuous batching with chunked prefill, drafts,
// and preemption when blocks run short. A pure function, so that every rank may check it and a simulation can
// test it.
//
// Promises: never more rows than the limit, never more blocks than are free; every running sequence gets a
// row as long as it has blocks; prefill and drafts cannot starve each other; sequences are admitted in the
// order they wait, without overtaking; the oldest running sequence moves as long as the blocks suffice for it
// alone. Which drafts are worth their rows is decided before (confidence_scheduler.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace outrider::schedule {

struct BatchLimits {
  std::int64_t rows_max;       // --max-num-batched-tokens, at least 1
  std::int64_t sequences_max;  // --max-num-seqs, at least 1; more than rows_max never run at once
  std::int64_t block_tokens;   // --block-size
};

// A sequence as the batcher sees it. Its tokens are prompt and output so far; the last one is never computed
// yet, since its row yields the next token (the anchor of speculation). After a preemption all are computed
// again.
struct SequenceView {
  base::SequenceId id;
  std::int64_t token_count;     // prompt + output so far, at least 1
  std::int64_t computed_count;  // of them, those whose keys and values lie in the cache: below token_count
  // Running: blocks held, and how many of them would become free if it let go. Waiting: it holds nothing;
  // blocks of a prefix found in the cache, and how many of them nobody holds, so that they are among the free
  // ones until it takes them.
  std::int64_t block_count;
  std::int64_t freed_count;
  std::int64_t token_limit;      // the most tokens it may ever hold: context or length limit
  std::int64_t draft_count = 0;  // drafts on offer after the anchor; none while prompt tokens are pending
};

// Rows of one sequence, at consecutive positions: `token_rows` of its own tokens, then `draft_rows` of its
// first drafts.
struct SequenceRows {
  base::SequenceId id;
  std::int64_t first_position;
  std::int64_t token_rows;
  std::int64_t draft_rows;
  std::int64_t new_blocks;  // to be added to its table first
  bool yields_token;        // the rows reach the last token: 1 to 1 + draft_rows tokens come out
  bool is_admitted;         // was waiting

  friend bool operator==(const SequenceRows&, const SequenceRows&) = default;
};

struct StepPlan {
  std::vector<SequenceRows> sequences;  // running ones in their order, then the admitted
  std::vector<base::SequenceId>
      preempted;  // youngest first: give back all blocks, wait in front of all others
  std::vector<base::SequenceId>
      unservable;  // waiting, and needs more blocks than there are with nothing else running
  std::int64_t row_count = 0;

  friend bool operator==(const StepPlan&, const StepPlan&) = default;
};

// What planning remembers of one sequence. Kept between steps for its memory alone.
struct SequenceShare {
  const SequenceView* view;
  std::int64_t token_rows = 0, draft_rows = 0, blocks = 0;  // blocks: held and new
  bool is_admitted = false;
};
using BatchScratch = std::vector<SequenceShare>;

// `running`: oldest first, no more than the limits let run. `waiting`: in the order they are to be served.
// `free_blocks`: what can be handed out now, evictable ones included. A plan without rows names somebody
// preempted or unservable, or there was nothing to do.
StepPlan plan_step(const BatchLimits& limits, std::span<const SequenceView> running,
                   std::span<const SequenceView> waiting, std::int64_t free_blocks);
// The same into `plan`, without allocating once plan and scratch have grown.
void plan_step(const BatchLimits& limits, std::span<const SequenceView> running,
               std::span<const SequenceView> waiting, std::int64_t free_blocks, BatchScratch& scratch,
               StepPlan& plan);

}  // namespace outrider::schedule
