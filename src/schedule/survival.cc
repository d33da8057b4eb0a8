#include "schedule/survival.h"

#include <algorithm>

#include "base/check.h"

namespace outrider::schedule {

SurvivalCurve derive_survival(std::span<const float> confidences) {
  SurvivalCurve curve;
  double product = 1;
  for (const float confidence : confidences) {
    product *= confidence > 0 ? std::min(static_cast<double>(confidence), 1.0) : 0.0;
    curve.push_back(product);
  }
  return curve;
}

void AcceptanceAverages::observe(int verified, int accepted) {
  OUTRIDER_CHECK(accepted >= 0 && accepted <= verified);
  const auto judged = static_cast<std::size_t>(std::min(verified, accepted + 1));
  if (positions_.size() < judged) positions_.resize(judged);
  for (std::size_t i = 0; i < positions_.size(); ++i) {
    Position& position = positions_[i];
    const bool was_tried = i < static_cast<std::size_t>(verified);
    if (was_tried && i >= judged) break;  // not reached, which says nothing
    // Depths that are tried no longer forget too, and so come to borrow from the depth before, or one unlucky
    // stretch would shut them out for good.
    position.judged *= kMemory;
    position.accepted *= kMemory;
    if (i >= judged) continue;
    position.judged += 1;
    position.accepted += i < static_cast<std::size_t>(accepted) ? 1 : 0;
  }
}

void AcceptanceAverages::fade(double factor) {
  OUTRIDER_CHECK(factor > 0 && factor <= 1);
  for (Position& position : positions_) {
    position.judged *= factor;
    position.accepted *= factor;
  }
}

double AcceptanceAverages::acceptance_at(std::size_t position) const {
  double estimate = positions_[0].accepted / positions_[0].judged;
  for (std::size_t i = 1; i <= position && i < positions_.size(); ++i) {
    estimate = (positions_[i].accepted + kBorrowed * estimate) / (positions_[i].judged + kBorrowed);
  }
  return estimate;
}

SurvivalCurve AcceptanceAverages::survival(int count) const {
  SurvivalCurve curve;
  double product = 1;
  for (int i = 0; i < count; ++i) {
    product *= acceptance_at(static_cast<std::size_t>(i));
    curve.push_back(product);
  }
  return curve;
}

void SurvivalCalibration::observe(std::span<const double> predicted, int verified, int accepted) {
  OUTRIDER_CHECK(accepted >= 0 && accepted <= verified &&
                 static_cast<std::size_t>(verified) <= predicted.size());
  if (positions_.size() < static_cast<std::size_t>(verified))
    positions_.resize(static_cast<std::size_t>(verified));
  for (std::size_t i = 0; i < static_cast<std::size_t>(verified); ++i) {
    Position& position = positions_[i];
    position.rounds = position.rounds * kMemory + 1;
    position.predicted = position.predicted * kMemory + predicted[i];
    position.survived = position.survived * kMemory + (i < static_cast<std::size_t>(accepted) ? 1 : 0);
  }
}

SurvivalCurve SurvivalCalibration::apply(std::span<const double> predicted) const {
  SurvivalCurve curve;
  double bound = 1;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    double factor = 1;
    if (i < positions_.size() && positions_[i].predicted > 0) {
      const double trust = positions_[i].rounds / (positions_[i].rounds + 4);
      factor += trust * (positions_[i].survived / positions_[i].predicted - 1);
    }
    bound = std::min(bound, predicted[i] * factor);
    curve.push_back(bound);
  }
  return curve;
}

void SurvivalDelay::push(std::span<const base::SequenceId> ids, std::span<const SurvivalCurve> curves) {
  OUTRIDER_CHECK(ids.size() == curves.size());
  auto& step = steps_.emplace_back();
  for (std::size_t i = 0; i < ids.size(); ++i) step.emplace(static_cast<std::uint64_t>(ids[i]), curves[i]);
  if (steps_.size() > static_cast<std::size_t>(delay_)) steps_.pop_front();
}

std::vector<SurvivalCurve> SurvivalDelay::earlier(std::span<const base::SequenceId> ids,
                                                  std::span<const int> lengths) const {
  OUTRIDER_CHECK(ids.size() == lengths.size());
  std::vector<SurvivalCurve> curves;
  const bool is_known = steps_.size() == static_cast<std::size_t>(delay_) && delay_ > 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto length = static_cast<std::size_t>(lengths[i]);
    curves.emplace_back(length, 1.0);
    if (!is_known) continue;
    const auto found = steps_.front().find(static_cast<std::uint64_t>(ids[i]));
    if (found == steps_.front().end()) continue;
    curves.back() = found->second;
    curves.back().resize(length, 0.0);
  }
  return curves;
}

}  // namespace outrider::schedule
