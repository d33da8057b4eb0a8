// 16-bit floats as bit patterns, and their exact conversions. Scalar: the vector forms live in kernels/.
#pragma once

#include <bit>
#include <cstdint>

namespace outrider::tensor {

enum class Bf16 : std::uint16_t {};
enum class F16 : std::uint16_t {};

inline float to_float(Bf16 value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16); }

// Round to nearest, ties to even; NaN stays a (quiet) NaN. Denormals are kept.
inline Bf16 to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<Bf16>((bits >> 16) | 0x40u);
  return static_cast<Bf16>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

inline float to_float(F16 value) {
  const std::uint32_t half = static_cast<std::uint32_t>(value);
  const std::uint32_t sign = (half & 0x8000u) << 16, exponent = (half >> 10) & 31u, fraction = half & 0x3FFu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t wide = exponent == 31 ? 0xFFu : exponent + 112u;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

// Round to nearest, ties to even; beyond the largest half becomes infinity.
inline F16 to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return static_cast<F16>(sign | 0x7E00u);
  if (magnitude >= 0x477FF000u) return static_cast<F16>(sign | 0x7C00u);
  if (magnitude < 0x38800000u) {  // becomes a denormal half: adding 0.5 aligns it to units of 2^-24
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<F16>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000u));
  }
  return static_cast<F16>(sign | ((magnitude - 0x38000000u + 0xFFFu + ((magnitude >> 13) & 1u)) >> 13));
}

}  // namespace outrider::tensor
