// Whether to draft at all, and how many tokens, before anything is drafted: from what was accepted so far and
// from measured costs. Where drafting does not pay it stops, and it comes back by itself: a small share of
// the time is saved up for trials.
//
// Promises: never reads a clock (time is what the cost curves say), so that every rank and every run decides
// alike; in the long run trials take no more than their share. Its counts depend on earlier rounds only, so
// any draft may follow them losslessly.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "schedule/cost_curve.h"
#include "schedule/survival.h"

namespace outrider::schedule {

struct GovernorOptions {
  double trial_share = 0.02;  // of all time, for trials where drafting is off
  int trial_drafts = 4;       // drafts of a trial
  int trial_rounds = 8;       // rounds of a trial, as long as each pays
  AcceptanceAverages::Belief belief = {};
};

class DraftGovernor {
 public:
  DraftGovernor(StepCosts costs, GovernorOptions options)
      : costs_(std::move(costs)), options_(options), common_(options.belief) {}

  struct Request {
    base::SequenceId id;
    int draft_max;  // the most that it could use; 0 where it cannot draft
  };
  // Drafts for each sequence that will decode in the next step. `other_rows`: prefill rows beside them.
  std::vector<int> plan_drafts(std::span<const Request> requests, std::int64_t other_rows);

  // What came of a round with drafts.
  void observe(base::SequenceId id, int verified, int accepted);
  void forget(base::SequenceId id) { sequences_.erase(static_cast<std::uint64_t>(id)); }

  const StepCosts& costs() const { return costs_; }

 private:
  struct Sequence {
    AcceptanceAverages averages;
    int rounds_off = 0;      // since it last drafted
    int trial_round = 0;     // 1 in the first of a trial; 0: in no trial
    double trial_price = 0;  // tokens that a round of the trial must yield to pay
  };
  Sequence& sequence_of(base::SequenceId id);
  double step_seconds(std::span<const int> counts, std::int64_t other_rows) const;
  std::vector<int> plan_paying(std::span<const Request> requests, std::int64_t other_rows);
  bool try_trial(std::span<const Request> requests, std::int64_t other_rows, std::size_t index, bool is_free,
                 std::vector<int>& counts);
  void add_trials(std::span<const Request> requests, std::int64_t other_rows, std::vector<int>& counts);

  StepCosts costs_;
  GovernorOptions options_;
  AcceptanceAverages common_;  // of all sequences: what is believed of a new one
  std::unordered_map<std::uint64_t, Sequence> sequences_;
  double credit_seconds_ = 0;
};

}  // namespace outrider::schedule
