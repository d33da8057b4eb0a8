#include "schedule/confidence_scheduler.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace outrider::schedule {
namespace {

using Curves = std::vector<SurvivalCurve>;
using Lengths = std::vector<int>;

// The steps per second of the DSpark paper's example in its appendix A: 1, 0.5, 0.45 for one, two, three
// rows.
CostCurve example_curve() { return CostCurve(CurveShape::Linear, {{1, 1.0}, {2, 2.0}, {3, 1 / 0.45}}); }

TEST(ConfidenceScheduler, StopsInTheValleyThatTheArgmaxCrosses) {
  const CostCurve curve = example_curve();
  const Curves sure = {{0.8, 0.8}}, unsure = {{0.8, 0.0}};
  EXPECT_EQ(plan_lengths_argmax(sure, {.verify = curve}), Lengths{2});
  EXPECT_EQ(plan_lengths_argmax(unsure, {.verify = curve}), Lengths{0});
  // 1.8 * 0.5 < 1: the first draft does not pay, and what comes after is never looked at.
  EXPECT_EQ(plan_lengths_early_stop(sure, {.verify = curve}), Lengths{0});
  EXPECT_EQ(plan_lengths_early_stop(unsure, {.verify = curve}), Lengths{0});
}

TEST(ConfidenceScheduler, CountsPrefillRowsAndTimeSpent) {
  // Flat up to 4 rows, then steep: with 3 rows of prefill there is no room left.
  const CostCurve curve(CurveShape::Linear, {{4, 1.0}, {5, 10.0}});
  const Curves survival = {{0.9, 0.8, 0.7, 0.6}};
  EXPECT_EQ(plan_lengths_early_stop(survival, {.verify = curve}), Lengths{3});
  EXPECT_EQ(plan_lengths_early_stop(survival, {.verify = curve, .other_rows = 2}), Lengths{1});
  EXPECT_EQ(plan_lengths_early_stop(survival, {.verify = curve, .other_rows = 3}), Lengths{0});
  // Where much was spent already, dear rows pay.
  EXPECT_EQ(plan_lengths_early_stop(survival, {.verify = curve, .spent_seconds = 100}), Lengths{4});
}

TEST(ConfidenceScheduler, BreaksTiesBySequenceThenPosition) {
  const Curves survival = {{1, 1, 0.5}, {1, 0.5, 0.5}, {1, 1}};
  EXPECT_EQ(plan_lengths_top(survival, 0), (Lengths{0, 0, 0}));
  EXPECT_EQ(plan_lengths_top(survival, 2), (Lengths{2, 0, 0}));
  EXPECT_EQ(plan_lengths_top(survival, 4), (Lengths{2, 1, 1}));
  EXPECT_EQ(plan_lengths_top(survival, 6), (Lengths{3, 1, 2}));
  EXPECT_EQ(plan_lengths_top(survival, 99), (Lengths{3, 3, 2}));
  EXPECT_EQ(plan_lengths_top(Curves{{0.5, 0, 0}, {}}, 99), (Lengths{1, 0}));  // no chance, no row
}

TEST(ConfidenceScheduler, DelayedFormSpendsTheEarlierCapacityOnTheCurrentBest) {
  const CostCurve curve(CurveShape::Linear, {{4, 1.0}, {5, 10.0}});
  const Curves earlier = {{0.9, 0.9}, {0.1, 0.1}}, current = {{0.2, 0.1}, {0.8, 0.7}};
  EXPECT_EQ(plan_lengths_delayed(earlier, current, {.verify = curve}), (Lengths{0, 2}));
}

double rate_of(const Curves& survival, const Lengths& lengths, const VerifyCosts& costs) {
  double tokens = static_cast<double>(survival.size());
  std::int64_t rows = static_cast<std::int64_t>(survival.size()) + costs.other_rows;
  for (std::size_t r = 0; r < survival.size(); ++r) {
    rows += lengths[r];
    for (int j = 0; j < lengths[r]; ++j) tokens += survival[r][static_cast<std::size_t>(j)];
  }
  return tokens / (costs.spent_seconds + costs.verify.seconds_at(rows));
}

// The highest rate of all 4^3 choices.
double best_rate(const Curves& survival, const VerifyCosts& costs) {
  double best = 0;
  for (int code = 0; code < 64; ++code) {
    const Lengths lengths = {code & 3, code >> 2 & 3, code >> 4};
    best = std::max(best, rate_of(survival, lengths, costs));
  }
  return best;
}

TEST(ConfidenceScheduler, FindsTheBestOfAllChoices) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int round = 0; round < 400; ++round) {
    Curves survival(3);
    for (SurvivalCurve& curve : survival) {
      double product = 1;
      for (int j = 0; j < 3; ++j)
        curve.push_back(product *= std::round(uniform(random) * 4) / 4);  // with ties
    }
    std::vector<CostPoint> steps;
    double seconds = 1;
    for (std::int64_t rows = 1; rows <= 14; ++rows)
      steps.push_back({rows, seconds += uniform(random) * uniform(random)});
    const CostCurve jagged(CurveShape::Staircase, steps),
        straight(CurveShape::Linear, {{1, 1.0}, {2, 1 + uniform(random)}});
    const VerifyCosts jagged_costs{
        .verify = jagged, .other_rows = round % 3, .spent_seconds = 0.1 * (round % 5)};
    const VerifyCosts straight_costs{.verify = straight};
    EXPECT_DOUBLE_EQ(rate_of(survival, plan_lengths_argmax(survival, jagged_costs), jagged_costs),
                     best_rate(survival, jagged_costs));
    // One peak: stopping early loses nothing.
    EXPECT_DOUBLE_EQ(rate_of(survival, plan_lengths_early_stop(survival, straight_costs), straight_costs),
                     best_rate(survival, straight_costs));
  }
}

TEST(ConfidenceScheduler, AdmitsADraftWhateverComesAfterIt) {
  // The condition for losslessness: what follows entry (r, k) of its own sequence must not change whether (r,
  // k) is admitted.
  std::mt19937 random(9);
  std::uniform_real_distribution<double> uniform(0, 1);
  int differences_of_argmax = 0;
  for (int round = 0; round < 2000; ++round) {
    Curves survival(2);
    for (SurvivalCurve& curve : survival) {
      double product = 1;
      for (int j = 0; j < 4; ++j) curve.push_back(product *= std::round(uniform(random) * 3) / 3);
    }
    const std::size_t position = static_cast<std::size_t>(round % 4);
    Curves changed = survival;
    double product = changed[1][position];
    for (std::size_t j = position + 1; j < 4; ++j)
      changed[1][j] = product *= std::round(uniform(random) * 3) / 3;
    std::vector<CostPoint> steps;
    double seconds = 1;
    for (std::int64_t rows = 2; rows <= 10; ++rows)
      steps.push_back({rows, seconds += uniform(random) * uniform(random)});
    const CostCurve curve(CurveShape::Linear, steps);
    const auto admits = [&](const Lengths& lengths) { return lengths[1] > static_cast<int>(position); };
    const VerifyCosts costs{.verify = curve};
    EXPECT_EQ(admits(plan_lengths_early_stop(survival, costs)),
              admits(plan_lengths_early_stop(changed, costs)));
    EXPECT_EQ(admits(plan_lengths_top(survival, round % 9)), admits(plan_lengths_top(changed, round % 9)));
    differences_of_argmax +=
        admits(plan_lengths_argmax(survival, costs)) != admits(plan_lengths_argmax(changed, costs)) ? 1 : 0;
  }
  EXPECT_GT(differences_of_argmax, 0);
}

}  // namespace
}  // namespace outrider::schedule
