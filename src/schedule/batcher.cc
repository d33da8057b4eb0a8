#include "schedule/batcher.h"

#include <algorithm>
#include <cstddef>

#include "base/check.h"

namespace outrider::schedule {
namespace {

class StepPlanner {
 public:
  StepPlanner(const BatchLimits& limits, std::span<const SequenceView> running,
              std::span<const SequenceView> waiting, std::int64_t free_blocks, BatchScratch& scratch,
              StepPlan& plan)
      : limits_(limits),
        running_(running),
        waiting_(waiting),
        free_blocks_(free_blocks),
        rows_left_(limits.rows_max),
        shares_(scratch),
        plan_(plan) {
    shares_.clear();
    plan_.sequences.clear();
    plan_.preempted.clear();
    plan_.unservable.clear();
    plan_.row_count = 0;
    OUTRIDER_CHECK(limits.rows_max >= 1 && limits.sequences_max >= 1 && limits.block_tokens >= 1 &&
                   free_blocks >= 0);
    OUTRIDER_CHECK(static_cast<std::int64_t>(running.size()) <= running_max());
    for (const auto& group : {running, waiting}) {
      for (const SequenceView& view : group) {
        OUTRIDER_CHECK(view.computed_count >= 0 && view.computed_count < view.token_count &&
                       view.draft_count >= 0);
      }
    }
  }

  void plan() {
    give_first_rows();
    // Drafts may claim up to half of the rows that are left, prefill has the rest and whatever drafts do not
    // claim.
    const std::int64_t claimed_by_drafts = std::min(count_drafts(), rows_left_ / 2);
    rows_left_ -= claimed_by_drafts;
    extend_prefills();
    admit_waiting();
    rows_left_ += claimed_by_drafts;
    add_drafts();
    collect();
  }

 private:
  using Share = SequenceShare;

  static std::int64_t pending(const SequenceView& view) { return view.token_count - view.computed_count; }

  std::int64_t blocks_for(std::int64_t tokens) const {
    return (tokens + limits_.block_tokens - 1) / limits_.block_tokens;
  }

  std::int64_t running_max() const { return std::min(limits_.sequences_max, limits_.rows_max); }

  // Rows that fit into the blocks of the share and `spare` more.
  std::int64_t rows_within(const Share& share, std::int64_t spare) const {
    return (share.blocks + spare) * limits_.block_tokens - share.view->computed_count - share.token_rows -
           share.draft_rows;
  }

  void take(Share& share, std::int64_t rows, std::int64_t& counter) {
    counter += rows;
    rows_left_ -= rows;
    const std::int64_t needed = blocks_for(share.view->computed_count + share.token_rows + share.draft_rows);
    if (needed <= share.blocks) return;
    free_blocks_ -= needed - share.blocks;
    share.blocks = needed;
    OUTRIDER_CHECK(free_blocks_ >= 0 && rows_left_ >= 0);
  }

  // One row for every running sequence, from the oldest; the youngest give way where blocks are missing.
  void give_first_rows() {
    std::size_t alive = running_.size();
    for (std::size_t i = 0; i < alive; ++i) {
      Share share{.view = &running_[i], .blocks = running_[i].block_count};
      while (rows_within(share, free_blocks_) < 1 && alive > i) {
        const SequenceView& youngest = running_[--alive];
        free_blocks_ += youngest.freed_count;
        plan_.preempted.push_back(youngest.id);
      }
      if (alive <= i) return;
      take(share, 1, share.token_rows);
      shares_.push_back(share);
    }
  }

  std::int64_t drafts_wanted(const Share& share) const {
    const SequenceView& view = *share.view;
    if (share.is_admitted || pending(view) != 1) return 0;
    // d drafts may yield d + 1 tokens.
    return std::clamp<std::int64_t>(view.token_limit - view.token_count - 1, 0, view.draft_count);
  }

  std::int64_t count_drafts() const {
    std::int64_t count = 0;
    for (const Share& share : shares_) count += drafts_wanted(share);
    return count;
  }

  void extend_prefills() {
    for (Share& share : shares_) {
      const std::int64_t rows =
          std::min({pending(*share.view) - share.token_rows, rows_left_, rows_within(share, free_blocks_)});
      take(share, std::max<std::int64_t>(rows, 0), share.token_rows);
      promised_blocks_ += std::max<std::int64_t>(blocks_for(share.view->token_count) - share.blocks, 0);
    }
  }

  // In order, without overtaking, and only with blocks for the whole of it plus one spare for each that runs
  // already: who is let in too early is preempted soon. Nobody is let in right after a preemption, since the
  // preempted wait in front.
  void admit_waiting() {
    if (!plan_.preempted.empty()) return;
    for (const SequenceView& view : waiting_) {
      const auto running_count = static_cast<std::int64_t>(shares_.size());
      if (running_count >= running_max() || rows_left_ < 1) return;
      Share share{.view = &view, .blocks = view.block_count, .is_admitted = true};
      const std::int64_t needed =
          view.freed_count + std::max<std::int64_t>(blocks_for(view.token_count) - share.blocks, 0);
      if (needed > free_blocks_ && shares_.empty()) {
        plan_.unservable.push_back(view.id);
        return;
      }
      if (needed + running_count + promised_blocks_ > free_blocks_) return;
      free_blocks_ -= view.freed_count;
      take(share, std::min(pending(view), rows_left_), share.token_rows);
      promised_blocks_ += std::max<std::int64_t>(blocks_for(view.token_count) - share.blocks, 0);
      shares_.push_back(share);
    }
  }

  // The first draft of every sequence, then the second of every sequence, and so on. Whether a draft is
  // verified so depends on the number of drafts before it, never on the draft itself.
  void add_drafts() {
    std::int64_t most = 0;
    for (const Share& share : shares_) most = std::max(most, drafts_wanted(share));
    for (std::int64_t depth = 1; depth <= most && rows_left_ > 0; ++depth) {
      for (Share& share : shares_) {
        const std::int64_t spare = std::max<std::int64_t>(free_blocks_ - promised_blocks_, 0);
        const bool is_next = share.draft_rows == depth - 1 && drafts_wanted(share) >= depth;
        if (is_next && rows_left_ > 0 && rows_within(share, spare) >= 1) take(share, 1, share.draft_rows);
      }
    }
  }

  void collect() {
    for (const Share& share : shares_) {
      plan_.sequences.push_back({.id = share.view->id,
                                 .first_position = share.view->computed_count,
                                 .token_rows = share.token_rows,
                                 .draft_rows = share.draft_rows,
                                 .new_blocks = share.blocks - share.view->block_count,
                                 .yields_token = share.token_rows == pending(*share.view),
                                 .is_admitted = share.is_admitted});
      plan_.row_count += share.token_rows + share.draft_rows;
    }
  }

  const BatchLimits& limits_;
  std::span<const SequenceView> running_, waiting_;
  std::int64_t free_blocks_, rows_left_;
  std::int64_t promised_blocks_ = 0;  // that sequences amid their prefill will still need
  BatchScratch& shares_;
  StepPlan& plan_;
};

}  // namespace

StepPlan plan_step(const BatchLimits& limits, std::span<const SequenceView> running,
                   std::span<const SequenceView> waiting, std::int64_t free_blocks) {
  BatchScratch scratch;
  StepPlan plan;
  plan_step(limits, running, waiting, free_blocks, scratch, plan);
  return plan;
}

void plan_step(const BatchLimits& limits, std::span<const SequenceView> running,
               std::span<const SequenceView> waiting, std::int64_t free_blocks, BatchScratch& scratch,
               StepPlan& plan) {
  StepPlanner(limits, running, waiting, free_blocks, scratch, plan).plan();
}

}  // namespace outrider::schedule
