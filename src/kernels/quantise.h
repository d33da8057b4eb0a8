// Symmetric quantisation of a group of 32 weights or a span of 128 activations, as every target computes it.
// Non-finite values make the scale NaN, so that they show in the result instead of vanishing.
#pragma once

#include <cstdint>

#include "tensor/float16.h"

namespace outrider::kernels {

// Codes -127..127. The scale is max|w| / 127 rounded up to bf16: nothing is ever clipped.
tensor::Bf16 quantise_int8(const float* weights, std::int8_t* codes);
// Codes -8..7 (the value of largest magnitude may take -8, so the scale may be negative); of the scales
// extreme / kInt4Divisors, the first of least squared error.
tensor::Bf16 quantise_int4(const float* weights, std::int8_t* codes);

// Activations, at most 128 (layout.h: a span); the codes of absent ones are 0. scale = max|x| / 127, codes =
// nearest integer (ties to even) of x * (127 / max|x|); below kQuantiseFloor all are zero.
inline constexpr float kQuantiseFloor = 0x1p-110F;
float quantise_activations(const float* values, std::int64_t count, std::int8_t* codes);

// Parts that the vector forms share.
inline constexpr float kInt4Divisors[] = {-8.0F, -7.6F, -7.3F, -7.0F, -8.5F, -9.0F, 7.0F};
float int4_extreme(const float* weights, float largest);  // the last value of that magnitude
struct Int8Scale {
  tensor::Bf16 stored;
  float divisor;
  bool usable;  // neither zero nor beyond what bf16 holds
};
Int8Scale int8_scale(float largest);

}  // namespace outrider::kernels
