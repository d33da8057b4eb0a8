#include "schedule/batcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

namespace outrider::schedule {
namespace {

using base::SequenceId;

SequenceView decoding(std::uint64_t id, std::int64_t tokens, std::int64_t drafts = 0,
                      std::int64_t blocks = 100) {
  return {.id = SequenceId{id},
          .token_count = tokens,
          .computed_count = tokens - 1,
          .block_count = blocks,
          .freed_count = blocks,
          .token_limit = 1'000'000,
          .draft_count = drafts};
}

SequenceView fresh(std::uint64_t id, std::int64_t tokens) {
  return {.id = SequenceId{id},
          .token_count = tokens,
          .computed_count = 0,
          .block_count = 0,
          .freed_count = 0,
          .token_limit = 1'000'000};
}

using Views = std::vector<SequenceView>;

TEST(Batcher, RunsAnchorAndDraftsOfEveryRunningSequence) {
  const StepPlan plan = plan_step({.rows_max = 64, .sequences_max = 8, .block_tokens = 16},
                                  Views{decoding(1, 20, 7), decoding(2, 33, 0)}, {}, 10);
  ASSERT_EQ(plan.sequences.size(), 2u);
  EXPECT_EQ(plan.sequences[0], (SequenceRows{.id = SequenceId{1},
                                             .first_position = 19,
                                             .token_rows = 1,
                                             .draft_rows = 7,
                                             .new_blocks = 0,
                                             .yields_token = true,
                                             .is_admitted = false}));
  EXPECT_EQ(plan.sequences[1].draft_rows, 0);
  EXPECT_EQ(plan.row_count, 9);
}

TEST(Batcher, CutsPrefillIntoChunksBesideDecodeRows) {
  const BatchLimits limits{.rows_max = 10, .sequences_max = 8, .block_tokens = 4};
  const StepPlan plan = plan_step(limits, Views{decoding(1, 20)}, Views{fresh(2, 30)}, 100);
  ASSERT_EQ(plan.sequences.size(), 2u);
  EXPECT_EQ(plan.sequences[1], (SequenceRows{.id = SequenceId{2},
                                             .first_position = 0,
                                             .token_rows = 9,
                                             .draft_rows = 0,
                                             .new_blocks = 3,
                                             .yields_token = false,
                                             .is_admitted = true}));
  SequenceView rest = fresh(2, 30);
  rest.computed_count = 27;
  rest.block_count = 7;
  const StepPlan last = plan_step(limits, Views{decoding(1, 21), rest}, {}, 100);
  EXPECT_EQ(last.sequences[1].token_rows, 3);
  EXPECT_EQ(last.sequences[1].new_blocks, 1);
  EXPECT_TRUE(last.sequences[1].yields_token);
}

TEST(Batcher, LetsNeitherDraftsNorPrefillStarveTheOther) {
  const BatchLimits limits{.rows_max = 12, .sequences_max = 8, .block_tokens = 16};
  const Views running = {decoding(1, 20, 9), decoding(2, 20, 9)};
  const StepPlan plan = plan_step(limits, running, Views{fresh(3, 500)}, 1000);
  ASSERT_EQ(plan.sequences.size(), 3u);
  EXPECT_EQ(plan.sequences[2].token_rows, 5);
  EXPECT_EQ(plan.sequences[0].draft_rows, 3);  // the odd draft goes to the older sequence
  EXPECT_EQ(plan.sequences[1].draft_rows, 2);
  const StepPlan alone = plan_step(limits, running, {}, 1000);
  EXPECT_EQ(alone.sequences[0].draft_rows, 5);
  EXPECT_EQ(alone.sequences[1].draft_rows, 5);
}

TEST(Batcher, OffersNoMoreDraftsThanMayBeCommitted) {
  SequenceView view = decoding(1, 20, 7);
  for (const auto& [limit, drafts] : {std::pair{21, 0}, {22, 1}, {25, 4}, {28, 7}, {100, 7}}) {
    view.token_limit = limit;
    const StepPlan plan =
        plan_step({.rows_max = 64, .sequences_max = 8, .block_tokens = 16}, Views{view}, {}, 10);
    EXPECT_EQ(plan.sequences[0].draft_rows, drafts) << limit;
  }
}

TEST(Batcher, DropsDraftsBeforeItPreemptsAndPreemptsTheYoungest) {
  const BatchLimits limits{.rows_max = 64, .sequences_max = 8, .block_tokens = 4};
  // Both full to the brim: 8 tokens computed in 2 blocks, the anchor needs a third.
  const Views running = {decoding(1, 9, 3, 2), decoding(2, 9, 3, 2)};
  StepPlan plan = plan_step(limits, running, Views{fresh(3, 1)}, 2);
  EXPECT_TRUE(plan.preempted.empty());
  ASSERT_EQ(plan.sequences.size(), 2u);
  EXPECT_EQ(plan.sequences[1].draft_rows, 3);  // within the block of its anchor
  plan = plan_step(limits, running, Views{fresh(3, 1)}, 0);
  EXPECT_EQ(plan.preempted, std::vector{SequenceId{2}});
  ASSERT_EQ(plan.sequences.size(), 1u);  // and nobody is admitted in its place
  EXPECT_EQ(plan.sequences[0].id, SequenceId{1});
  EXPECT_EQ(plan.sequences[0].new_blocks, 1);
}

TEST(Batcher, AdmitsInOrderWithoutOvertakingAndNamesTheUnservable) {
  const BatchLimits limits{.rows_max = 64, .sequences_max = 8, .block_tokens = 4};
  StepPlan plan = plan_step(limits, Views{decoding(1, 5, 0, 2)}, Views{fresh(2, 100), fresh(3, 1)}, 10);
  EXPECT_EQ(plan.sequences.size(), 1u);
  EXPECT_TRUE(plan.unservable.empty());
  plan = plan_step(limits, {}, Views{fresh(2, 100), fresh(3, 1)}, 10);
  EXPECT_EQ(plan.unservable, std::vector{SequenceId{2}});
  EXPECT_EQ(plan.row_count, 0);
}

TEST(Batcher, TakesAPrefixFoundInTheCacheOutOfTheFreeBlocks) {
  SequenceView view = fresh(1, 17);  // 5 blocks, 3 of them found, of which 2 are held by nobody
  view.computed_count = 12;
  view.block_count = 3;
  view.freed_count = 2;
  const BatchLimits limits{.rows_max = 64, .sequences_max = 8, .block_tokens = 4};
  EXPECT_EQ(plan_step(limits, {}, Views{view}, 3).unservable.size(), 1u);
  const StepPlan plan = plan_step(limits, {}, Views{view}, 4);
  ASSERT_EQ(plan.sequences.size(), 1u);
  EXPECT_EQ(plan.sequences[0].first_position, 12);
  EXPECT_EQ(plan.sequences[0].token_rows, 5);
  EXPECT_EQ(plan.sequences[0].new_blocks, 2);
}

// An engine without a model: it keeps the books, checks every plan, and accepts a random number of drafts.
class Simulation {
 public:
  explicit Simulation(std::uint32_t seed) : random_(seed) {
    limits_ = {.rows_max = pick(1, 40), .sequences_max = pick(1, 12), .block_tokens = pick(1, 8)};
    block_count_ = pick(8, 60);
    free_blocks_ = block_count_;
  }

  void run() {
    for (int step = 0; step < 20'000; ++step) {
      if (step < 200 && pick(0, 3) == 0) arrive();
      if (step > 200 && running_.empty() && waiting_.empty()) return;
      const std::vector<SequenceView> running(running_.begin(), running_.end()),
          waiting(waiting_.begin(), waiting_.end());
      const StepPlan plan = plan_step(limits_, running, waiting, free_blocks_);
      ASSERT_EQ(plan, plan_step(limits_, running, waiting, free_blocks_));
      check(plan);
      apply(plan);
      if (::testing::Test::HasFatalFailure()) return;
    }
    FAIL() << "sequences left after 20,000 steps";
  }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  void arrive() {
    const std::int64_t prompt = pick(1, 60);
    SequenceView view = fresh(++last_id_, prompt);
    view.token_limit = prompt + pick(1, 30);
    waiting_.push_back(view);
  }

  void check(const StepPlan& plan) {
    const bool has_work = !running_.empty() || !waiting_.empty();
    ASSERT_EQ(has_work, plan.row_count > 0 || !plan.preempted.empty() || !plan.unservable.empty());
    ASSERT_LE(plan.row_count, limits_.rows_max);
    ASSERT_LE(static_cast<std::int64_t>(plan.sequences.size()), limits_.sequences_max);
    // Everybody who runs and was not preempted has a row, in the order of running; the oldest is preempted
    // only alone.
    ASSERT_LE(plan.preempted.size(), running_.size());
    const std::size_t kept = running_.size() - plan.preempted.size();
    ASSERT_GE(plan.sequences.size(), kept);
    for (std::size_t i = 0; i < kept; ++i) ASSERT_EQ(plan.sequences[i].id, running_[i].id);
    for (std::size_t i = kept; i < plan.sequences.size(); ++i) {
      ASSERT_TRUE(plan.sequences[i].is_admitted);
      ASSERT_EQ(plan.sequences[i].id, waiting_[i - kept].id);
    }
    for (std::size_t i = 0; i < plan.preempted.size(); ++i) {
      ASSERT_EQ(plan.preempted[i], running_[running_.size() - 1 - i].id);
    }
  }

  void apply(const StepPlan& plan) {
    for (std::size_t i = 0; i < plan.preempted.size(); ++i) {
      SequenceView view = running_.back();
      running_.pop_back();
      free_blocks_ += view.block_count;
      view.computed_count = view.block_count = view.freed_count = view.draft_count = 0;
      waiting_.push_front(view);
    }
    for (std::size_t i = 0; i < plan.unservable.size(); ++i) {
      ASSERT_EQ(plan.unservable[i], waiting_.front().id);
      ASSERT_GT(waiting_.front().token_count, block_count_ * limits_.block_tokens);
      waiting_.pop_front();
    }
    for (const SequenceRows& rows : plan.sequences) {
      if (!rows.is_admitted) continue;
      running_.push_back(waiting_.front());
      waiting_.pop_front();
    }
    std::vector<SequenceView> next;
    for (std::size_t i = 0; i < running_.size(); ++i) {
      SequenceView view = running_[i];
      run_rows(plan.sequences[i], view);
      if (view.token_count < view.token_limit) {
        next.push_back(view);
      } else {
        free_blocks_ += view.block_count;
      }
    }
    running_.assign(next.begin(), next.end());
  }

  void run_rows(const SequenceRows& rows, SequenceView& view) {
    ASSERT_EQ(rows.first_position, view.computed_count);
    ASSERT_GE(rows.token_rows, 1);
    ASSERT_LE(rows.token_rows, view.token_count - view.computed_count);
    ASSERT_EQ(rows.yields_token, rows.token_rows == view.token_count - view.computed_count);
    ASSERT_LE(rows.draft_rows, view.draft_count);
    ASSERT_TRUE(rows.draft_rows == 0 || rows.yields_token);
    view.block_count = view.freed_count = view.block_count + rows.new_blocks;
    free_blocks_ -= rows.new_blocks;
    ASSERT_GE(free_blocks_, 0);
    ASSERT_GE(view.block_count * limits_.block_tokens,
              view.computed_count + rows.token_rows + rows.draft_rows);
    view.computed_count += rows.token_rows;
    if (!rows.yields_token) return;
    const std::int64_t accepted = pick(0, rows.draft_rows);
    view.computed_count += accepted;
    view.token_count += accepted + 1;
    ASSERT_LE(view.token_count, view.token_limit);
    view.draft_count = pick(0, 10);
  }

  std::mt19937 random_;
  BatchLimits limits_{.rows_max = 1, .sequences_max = 1, .block_tokens = 1};
  std::int64_t block_count_ = 0, free_blocks_ = 0;
  std::uint64_t last_id_ = 0;
  std::deque<SequenceView> running_, waiting_;
};

TEST(Batcher, ServesEverySequenceWithinItsLimitsWhateverArrives) {
  for (std::uint32_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Simulation(seed).run();
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace outrider::schedule
