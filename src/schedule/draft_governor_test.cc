#include "schedule/draft_governor.h"

#include <gtest/gtest.h>

#include <random>

namespace outrider::schedule {
namespace {

using base::SequenceId;

// 8 rows cost 1.2 times one row, a draft a quarter of a row: about what 8-bit weights are to reach.
StepCosts cheap_costs() {
  return {.verify = CostCurve(CurveShape::Linear, {{1, 1.0}, {8, 1.2}}),
          .draft = CostCurve(CurveShape::Linear, {{1, 0.25}})};
}
// Rows of a mixture of experts: 8 rows cost 3 times one.
StepCosts dear_costs() {
  return {.verify = CostCurve(CurveShape::Linear, {{1, 1.0}, {8, 3.0}}),
          .draft = CostCurve(CurveShape::Linear, {{1, 0.25}})};
}

// Rounds of one sequence whose drafts are each accepted with a given chance.
class Rounds {
 public:
  explicit Rounds(StepCosts costs) : governor_(std::move(costs), {}) {}

  struct Result {
    double rate;      // tokens per second of the curves
    double drafting;  // share of rounds with drafts
  };
  Result run(int rounds, double acceptance, int draft_max = 7) {
    double tokens = 0, seconds = 0, drafting = 0;
    for (int round = 0; round < rounds; ++round) {
      const std::vector<DraftGovernor::Request> requests = {{.id = SequenceId{1}, .draft_max = draft_max}};
      const int count = governor_.plan_drafts(requests, 0)[0];
      EXPECT_LE(count, draft_max);
      int accepted = 0;
      while (accepted < count && uniform_(random_) < acceptance) ++accepted;
      governor_.observe(SequenceId{1}, count, accepted);
      tokens += accepted + 1;
      seconds +=
          governor_.costs().draft_seconds(count > 0 ? 1 : 0) + governor_.costs().verify.seconds_at(1 + count);
      drafting += count > 0 ? 1 : 0;
    }
    return {.rate = tokens / seconds, .drafting = drafting / rounds};
  }

 private:
  DraftGovernor governor_;
  std::mt19937 random_{11};
  std::uniform_real_distribution<double> uniform_{0, 1};
};

TEST(DraftGovernor, DraftsTheWholeBlockWhereAllIsAccepted) {
  Rounds rounds(cheap_costs());
  rounds.run(20, 1);
  EXPECT_NEAR(rounds.run(200, 1).rate, 8 / 1.45, 1e-9);
}

TEST(DraftGovernor, LosesNextToNothingWhereNothingIsAccepted) {
  for (const StepCosts& costs : {cheap_costs(), dear_costs()}) {
    EXPECT_GT(Rounds(costs).run(300, 0).rate, 0.95);
    Rounds settled(costs);
    settled.run(300, 0);
    EXPECT_GT(settled.run(3000, 0).rate, 0.975);
  }
}

TEST(DraftGovernor, ResumesByItselfWhenDraftingPaysAgain) {
  for (const StepCosts& costs : {cheap_costs(), dear_costs()}) {
    Rounds rounds(costs);
    rounds.run(200, 0.9);
    rounds.run(150, 0.02);
    EXPECT_LT(rounds.run(600, 0.02).drafting, 0.1);
    rounds.run(200, 0.9);  // time to notice
    EXPECT_GT(rounds.run(200, 0.9).drafting, 0.95);
  }
}

TEST(DraftGovernor, IsNeverFarBelowTheBestFixedCount) {
  for (const double acceptance : {0.1, 0.3, 0.5, 0.7, 0.85, 0.95}) {
    for (const StepCosts& costs : {cheap_costs(), dear_costs()}) {
      double best = 0;
      for (int count = 0; count <= 7; ++count) {
        double tokens = 1, product = 1;
        for (int i = 0; i < count; ++i) tokens += product *= acceptance;
        best = std::max(
            best, tokens / (costs.draft_seconds(count > 0 ? 1 : 0) + costs.verify.seconds_at(1 + count)));
      }
      EXPECT_GT(Rounds(costs).run(4000, acceptance).rate, 0.93 * best) << acceptance;
    }
  }
}

TEST(DraftGovernor, DraftsForTheSequencesThatAcceptAndNotForTheOthers) {
  DraftGovernor governor(dear_costs(), {});
  const std::vector<DraftGovernor::Request> requests = {{.id = SequenceId{1}, .draft_max = 7},
                                                        {.id = SequenceId{2}, .draft_max = 7},
                                                        {.id = SequenceId{3}, .draft_max = 0}};
  int good = 0, bad = 0;
  for (int round = 0; round < 400; ++round) {
    const std::vector<int> counts = governor.plan_drafts(requests, 0);
    governor.observe(SequenceId{1}, counts[0], counts[0]);
    governor.observe(SequenceId{2}, counts[1], 0);
    EXPECT_EQ(counts[2], 0);
    if (round >= 100) good += counts[0], bad += counts[1];
  }
  EXPECT_EQ(good, 300 * 7);
  EXPECT_LT(bad, 300);
}

TEST(DraftGovernor, DecidesAlikeForTheSameHistory) {
  std::vector<double> rates;
  for (int repeat = 0; repeat < 2; ++repeat) {
    Rounds rounds(dear_costs());
    rates.push_back(rounds.run(500, 0.4).rate);
  }
  EXPECT_EQ(rates[0], rates[1]);
}

}  // namespace
}  // namespace outrider::schedule
