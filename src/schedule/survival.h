// Estimates of how far drafts survive verification: from a confidence head, or from what was accepted so far.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "schedule/confidence_scheduler.h"

namespace outrider::schedule {

// The running product of confidences: of each draft, the chance that it is accepted if all before it are. One
// that is not a number counts as 0: such a drafter is not trusted.
SurvivalCurve derive_survival(std::span<const float> confidences);

// Acceptance per position, newer rounds weighing more: an estimate for drafters without a confidence head.
class AcceptanceAverages {
 public:
  // What is believed before anything is seen, and how many rounds that belief weighs; it fades as rounds come
  // in.
  struct Belief {
    double acceptance = 0.7;
    double weight = 2;
  };
  AcceptanceAverages() : AcceptanceAverages(Belief{}) {}
  explicit AcceptanceAverages(Belief belief)
      : positions_{{belief.weight, belief.weight * belief.acceptance}} {}

  // A round in which `verified` drafts were judged and the first `accepted` of them stood.
  void observe(int verified, int accepted);
  // Lets what was seen so far weigh less beside what comes, where it may be out of date.
  void fade(double factor);
  // Chance that the draft at `position` is accepted if all before it are. A position never seen takes the
  // estimate before it.
  double acceptance_at(std::size_t position) const;
  SurvivalCurve survival(int count) const;

 private:
  struct Position {
    double judged = 0, accepted = 0;
  };
  static constexpr double kBorrowed = 2;   // rounds that the estimate of the depth before weighs
  static constexpr double kMemory = 0.97;  // a round's weight falls to a third after 36 more
  std::vector<Position> positions_;        // never empty
};

// Scales a confidence head's answers by observed over predicted acceptance, position by position; a position
// that was seldom or never judged borrows the factor of the one before it, since a head that is wrong is so
// at every depth and one that keeps deep drafts from being verified would never be found out. A factor
// depends on earlier rounds only, so the scaled curve may be used wherever the raw one may.
class SurvivalCalibration {
 public:
  // `confidences` of the drafts of a round, of which the first `verified` were judged and `accepted` stood.
  void observe(std::span<const float> confidences, int verified, int accepted);
  SurvivalCurve apply(std::span<const float> confidences) const;

 private:
  struct Position {
    double predicted = 0, accepted = 0;  // sums over the rounds that reached it
  };
  static constexpr double kBorrowed = 1;  // sure drafts that the factor of the depth before weighs
  static constexpr double kMemory = 0.98;
  std::vector<Position> positions_;
};

// The curves of `delay` steps ago, for plan_lengths_delayed. A sequence that was not there then counts as
// sure to survive.
class SurvivalDelay {
 public:
  explicit SurvivalDelay(int delay) : delay_(delay) {}
  void push(std::span<const base::SequenceId> ids, std::span<const SurvivalCurve> curves);
  // As long as `lengths` says: cut, or with zeros where the earlier curve was shorter.
  std::vector<SurvivalCurve> earlier(std::span<const base::SequenceId> ids,
                                     std::span<const int> lengths) const;

 private:
  int delay_;
  std::deque<std::unordered_map<std::uint64_t, SurvivalCurve>> steps_;  // newest last, at most delay_ of them
};

}  // namespace outrider::schedule
