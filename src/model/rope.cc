#include "model/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace outrider::model {
namespace {

// The channel whose wavelength makes `rotations` turns within the original context.
double correction_channel(double rotations, int head_width, double theta, double original_positions) {
  return head_width * std::log(original_positions / (rotations * 2 * std::numbers::pi)) /
         (2 * std::log(theta));
}

}  // namespace

std::vector<double> rope_frequencies(const checkpoint::RopeShape& shape, int head_width) {
  std::vector<double> frequencies;
  for (int j = 0; j < head_width / 2; ++j)
    frequencies.push_back(std::pow(shape.theta, -2.0 * j / head_width));
  const auto* yarn = std::get_if<checkpoint::YarnRope>(&shape.scaling);
  if (yarn == nullptr) return frequencies;
  const auto original = static_cast<double>(yarn->original_positions);
  const double last = head_width - 1;
  const double low = std::clamp(
      std::floor(correction_channel(yarn->beta_fast, head_width, shape.theta, original)), 0.0, last);
  double high = std::clamp(std::ceil(correction_channel(yarn->beta_slow, head_width, shape.theta, original)),
                           0.0, last);
  if (low == high) high += 0.001;  // as transformers does, so that the ramp stays a ramp
  for (int j = 0; j < head_width / 2; ++j) {
    double& frequency = frequencies[static_cast<std::size_t>(j)];
    const double ramp = std::clamp((j - low) / (high - low), 0.0, 1.0);
    frequency = frequency / yarn->factor * ramp + frequency * (1 - ramp);
  }
  return frequencies;
}

RopeTables::RopeTables(const checkpoint::RopeShape& shape, int head_width, std::int64_t position_count)
    : cos_(position_count, head_width / 2), sin_(position_count, head_width / 2) {
  const std::vector<double> frequencies = rope_frequencies(shape, head_width);
  const auto* yarn = std::get_if<checkpoint::YarnRope>(&shape.scaling);
  const double factor = yarn == nullptr ? 1.0 : yarn->attention_factor;
  for (std::int64_t position = 0; position < position_count; ++position) {
    for (std::size_t j = 0; j < frequencies.size(); ++j) {
      // The angle in single precision, as the models were trained with.
      const float angle = static_cast<float>(position) * static_cast<float>(frequencies[j]);
      cos_.view().row(position)[j] = static_cast<float>(std::cos(static_cast<double>(angle)) * factor);
      sin_.view().row(position)[j] = static_cast<float>(std::sin(static_cast<double>(angle)) * factor);
    }
  }
}

}  // namespace outrider::model
