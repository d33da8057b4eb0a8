#include "kernels/quantise.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/layout.h"

namespace outrider::kernels {
namespace {

constexpr std::int64_t kGroup = 32;

// The largest magnitude, NaN if any value is NaN: as integers, NaN sorts above infinity.
float largest_magnitude(const float* values, std::int64_t count) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::bit_cast<std::uint32_t>(values[i]) & 0x7FFFFFFFu);
  }
  return std::bit_cast<float>(largest);
}

tensor::Bf16 bf16_rounded_up(float value) {
  const tensor::Bf16 nearest = tensor::to_bf16(value);
  if (tensor::to_float(nearest) >= value) return nearest;
  return static_cast<tensor::Bf16>(static_cast<std::uint16_t>(nearest) + 1);
}

tensor::Bf16 mark_not_finite(std::int8_t* codes) {
  std::fill_n(codes, kGroup, std::int8_t{0});
  return tensor::to_bf16(std::numeric_limits<float>::quiet_NaN());
}

// Nearest integer, ties to even, for magnitudes below 2^22: in a form that compilers vectorise.
float nearest(float value) {
  constexpr float kShift = 12582912.0F;
  return (value + kShift) - kShift;
}

// Summed as sixteen lanes by a tree, like the vector forms.
float int4_error(const float* weights, float scale) {
  const float inverse = 1.0F / scale;
  float lanes[16];
  for (int i = 0; i < 16; ++i) {
    float misses[2];
    for (int half = 0; half < 2; ++half) {
      const float weight = weights[i + 16 * half];
      misses[half] = weight - std::min(std::max(nearest(weight * inverse), -8.0F), 7.0F) * scale;
    }
    lanes[i] = misses[0] * misses[0] + misses[1] * misses[1];
  }
  for (int width = 8; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

}  // namespace

Int8Scale int8_scale(float largest) {
  if (largest < kQuantiseFloor) return {tensor::Bf16{0}, 0, false};
  const tensor::Bf16 stored = bf16_rounded_up(largest / 127.0F);
  return {stored, tensor::to_float(stored), true};
}

float int4_extreme(const float* weights, float largest) {
  float extreme = largest;
  for (std::int64_t i = 0; i < kGroup; ++i) {
    if (std::abs(weights[i]) == largest) extreme = weights[i];
  }
  return extreme;
}

tensor::Bf16 quantise_int8(const float* weights, std::int8_t* codes) {
  const float largest = largest_magnitude(weights, kGroup);
  if (!std::isfinite(largest)) return mark_not_finite(codes);
  const Int8Scale scale = int8_scale(largest);
  for (std::int64_t i = 0; i < kGroup; ++i) {
    codes[i] =
        scale.usable ? static_cast<std::int8_t>(std::lrint(weights[i] / scale.divisor)) : std::int8_t{0};
  }
  return scale.stored;
}

tensor::Bf16 quantise_int4(const float* weights, std::int8_t* codes) {
  const float largest = largest_magnitude(weights, kGroup);
  if (!std::isfinite(largest)) return mark_not_finite(codes);
  std::fill_n(codes, kGroup, std::int8_t{0});
  if (largest < kQuantiseFloor) return tensor::Bf16{0};
  const float extreme = int4_extreme(weights, largest);
  tensor::Bf16 best = tensor::to_bf16(extreme / kInt4Divisors[0]);
  float best_error = std::numeric_limits<float>::infinity();
  for (const float divisor : kInt4Divisors) {
    const tensor::Bf16 scale = tensor::to_bf16(extreme / divisor);
    const float error = int4_error(weights, tensor::to_float(scale));
    if (error < best_error) {
      best_error = error;
      best = scale;
    }
  }
  const float inverse = 1.0F / tensor::to_float(best);
  for (std::int64_t i = 0; i < kGroup; ++i) {
    codes[i] = static_cast<std::int8_t>(std::min(std::max(nearest(weights[i] * inverse), -8.0F), 7.0F));
  }
  return best;
}

float quantise_activations(const float* values, std::int64_t count, std::int8_t* codes) {
  const float largest = largest_magnitude(values, count);
  std::fill_n(codes, kSpanInputs, std::int8_t{0});
  if (!std::isfinite(largest)) return std::numeric_limits<float>::quiet_NaN();
  if (largest < kQuantiseFloor) return 0;
  const float inverse = 127.0F / largest;
  for (std::int64_t i = 0; i < count; ++i)
    codes[i] = static_cast<std::int8_t>(std::lrint(values[i] * inverse));
  return largest / 127.0F;
}

}  // namespace outrider::kernels
