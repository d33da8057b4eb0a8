#include "schedule/survival.h"

#include <algorithm>

#include "base/check.h"

namespace outrider::schedule {

namespace {

double chance_of(float confidence) {
  return confidence > 0 ? std::min(static_cast<double>(confidence), 1.0) : 0.0;  // no number: none
}

}  // namespace

SurvivalCurve derive_survival(std::span<const float> confidences) {
  SurvivalCurve curve;
  double product = 1;
  for (const float confidence : confidences) {
    product *= chance_of(confidence);
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

void SurvivalCalibration::observe(std::span<const float> confidences, int verified, int accepted) {
  OUTRIDER_CHECK(accepted >= 0 && accepted <= verified &&
                 static_cast<std::size_t>(verified) <= confidences.size());
  const auto judged = static_cast<std::size_t>(std::min(verified, accepted + 1));
  if (positions_.size() < judged) positions_.resize(judged);
  for (std::size_t i = 0; i < judged; ++i) {
    Position& position = positions_[i];
    position.predicted = position.predicted * kMemory + chance_of(confidences[i]);
    position.accepted = position.accepted * kMemory + (i < static_cast<std::size_t>(accepted) ? 1 : 0);
  }
}

SurvivalCurve SurvivalCalibration::apply(std::span<const float> confidences) const {
  SurvivalCurve curve;
  double product = 1, factor = 1;
  for (std::size_t i = 0; i < confidences.size(); ++i) {
    if (i < positions_.size()) {
      const Position& position = positions_[i];
      factor = (position.accepted + kBorrowed * factor) / (position.predicted + kBorrowed);
    }
    product *= std::min(1.0, factor * chance_of(confidences[i]));
    curve.push_back(product);
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
