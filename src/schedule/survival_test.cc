#include "schedule/survival.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace outrider::schedule {
namespace {

using base::SequenceId;

TEST(Survival, IsTheRunningProductAndTrustsNoNaN) {
  const std::vector<float> confidences = {0.5f, 1.0f, 0.5f, std::numeric_limits<float>::quiet_NaN(), 1.0f};
  EXPECT_EQ(derive_survival(confidences), (SurvivalCurve{0.5, 0.5, 0.25, 0, 0}));
  EXPECT_EQ(derive_survival(std::vector<float>{1.5f, -1.0f}), (SurvivalCurve{1, 0}));
}

TEST(AcceptanceAverages, ConvergeToTheChanceOfEachPosition) {
  AcceptanceAverages averages;
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(0, 1);
  const std::vector<double> chances = {0.9, 0.6, 0.3};
  std::vector<double> mean(3, 0);
  for (int round = 0; round < 4000; ++round) {
    int accepted = 0;
    while (accepted < 3 && uniform(random) < chances[static_cast<std::size_t>(accepted)]) ++accepted;
    averages.observe(3, accepted);
    for (std::size_t i = 0; round >= 1000 && i < 3; ++i) mean[i] += averages.acceptance_at(i) / 3000;
  }
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(mean[i], chances[i], 0.05) << i;
}

TEST(AcceptanceAverages, StartFromTheBeliefAndLendItToDepthsNeverSeen) {
  AcceptanceAverages averages({.acceptance = 0.5, .weight = 2});
  EXPECT_EQ(averages.survival(3), (SurvivalCurve{0.5, 0.25, 0.125}));
  for (int round = 0; round < 500; ++round) averages.observe(1, 1);
  EXPECT_GT(averages.acceptance_at(0), 0.94);
  EXPECT_EQ(averages.acceptance_at(5), averages.acceptance_at(0));
}

TEST(AcceptanceAverages, LearnFasterAfterWhatTheySawHasFaded) {
  AcceptanceAverages fresh, faded;
  for (int round = 0; round < 100; ++round) fresh.observe(1, 0), faded.observe(1, 0);
  faded.fade(0.25);
  EXPECT_DOUBLE_EQ(fresh.acceptance_at(0), faded.acceptance_at(0));
  fresh.observe(1, 1);
  faded.observe(1, 1);
  EXPECT_GT(faded.acceptance_at(0), 2 * fresh.acceptance_at(0));
}

TEST(SurvivalCalibration, PullsAnOverconfidentHeadDownToWhatIsSeen) {
  SurvivalCalibration calibration;
  const std::vector<float> confidences = {0.9F, 0.8F};
  EXPECT_EQ(calibration.apply(confidences), derive_survival(confidences));
  std::mt19937 random(4);
  std::uniform_real_distribution<double> uniform(0, 1);
  double mean0 = 0, mean1 = 0;
  for (int round = 0; round < 3000; ++round) {
    int accepted = uniform(random) < 0.6 ? 1 : 0;
    if (accepted == 1 && uniform(random) < 0.5) accepted = 2;
    calibration.observe(confidences, 2, accepted);
    const SurvivalCurve calibrated = calibration.apply(confidences);
    if (round >= 1000) mean0 += calibrated[0] / 2000, mean1 += calibrated[1] / 2000;
  }
  EXPECT_NEAR(mean0, 0.6, 0.05);
  EXPECT_NEAR(mean1, 0.3, 0.05);
}

TEST(SurvivalCalibration, LiftsDepthsThatAShyHeadNeverLetBeVerified) {
  SurvivalCalibration calibration;
  const std::vector<float> shy(7, 0.5F);
  for (int round = 0; round < 10; ++round) calibration.observe(shy, 3, 3);
  const SurvivalCurve calibrated = calibration.apply(shy);
  EXPECT_GT(calibrated[6], 0.5);  // by the head alone: 0.008
}

TEST(SurvivalCalibration, LearnsNothingAboutDraftsBehindTheFirstRefused) {
  SurvivalCalibration calibration;
  const std::vector<float> confidences = {0.5F, 0.5F, 0.5F};
  for (int round = 0; round < 50; ++round) calibration.observe(confidences, 3, round % 2);
  const SurvivalCurve calibrated = calibration.apply(confidences);
  EXPECT_NEAR(calibrated[0], 0.5, 0.1);
  EXPECT_LT(calibrated[1], 0.05);  // reached by every other round, and refused there
}

TEST(SurvivalCalibration, NeverLetsACurveRiseOrPassOne) {
  SurvivalCalibration calibration;
  const std::vector<float> confidences = {0.5F, 0.4F};
  for (int round = 0; round < 50; ++round)
    calibration.observe(confidences, round % 2 == 0 ? 2 : 1, round % 2 == 0 ? 2 : 1);
  const SurvivalCurve calibrated = calibration.apply(confidences);
  EXPECT_LE(calibrated[1], calibrated[0]);
  EXPECT_LE(calibrated[0], 1);
}

TEST(SurvivalDelay, GivesTheCurvesOfTwoStepsAgoAndTrustsNewcomers) {
  SurvivalDelay delay(2);
  const std::vector<SequenceId> first = {SequenceId{1}, SequenceId{2}}, second = {SequenceId{2}};
  delay.push(first, std::vector<SurvivalCurve>{{0.5}, {0.4, 0.3}});
  EXPECT_EQ(delay.earlier(second, std::vector<int>{2}), (std::vector<SurvivalCurve>{{1, 1}}));
  delay.push(second, std::vector<SurvivalCurve>{{0.2}});
  const std::vector<SequenceId> third = {SequenceId{2}, SequenceId{3}, SequenceId{1}};
  EXPECT_EQ(delay.earlier(third, std::vector<int>{1, 1, 2}),
            (std::vector<SurvivalCurve>{{0.4}, {1}, {0.5, 0}}));
  delay.push(second, std::vector<SurvivalCurve>{{0.1}});
  EXPECT_EQ(delay.earlier(second, std::vector<int>{1}), (std::vector<SurvivalCurve>{{0.2}}));
}

}  // namespace
}  // namespace outrider::schedule
