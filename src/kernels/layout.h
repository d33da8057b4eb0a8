// Where a packed matrix holds what, the same for every target: an output's weights are spread over a panel of
// 32 outputs, so that a vector register holds one input's (or pair's, or quad's) weights of neighbouring
// outputs and no sum ever crosses lanes. Panels follow each other without gaps; absent outputs and inputs of
// the last panel, pair or group hold zero weights.
//
//   F32   [input][32 outputs] float
//   Bf16  [pair of inputs][32 outputs][2] bf16
//   Int8  [group of 32 inputs]: 32 scales (bf16), then [half of 16 outputs][quad of inputs][16 outputs][4] of
//   weight + 128 Int4  [group of 32 inputs]: 32 scales (bf16), then [half][pair of quads j, j + 4][16
//   outputs][4]: low nibbles are quad j,
//         high nibbles quad j + 4, each weight + 8
#pragma once

#include <cstdint>

#include "kernels/linear.h"

namespace outrider::kernels {

inline constexpr std::int64_t kPanelOutputs = 32;
inline constexpr std::int64_t kGroupInputs = 32;
inline constexpr std::int64_t kScaleBytes = kPanelOutputs * 2;
inline constexpr std::int64_t kInt8GroupBytes = kScaleBytes + kPanelOutputs * kGroupInputs;
inline constexpr std::int64_t kInt4GroupBytes = kScaleBytes + kPanelOutputs * kGroupInputs / 2;
// Quantised activations share a scale over a span of four groups.
inline constexpr std::int64_t kSpanGroups = 4;
inline constexpr std::int64_t kSpanInputs = kSpanGroups * kGroupInputs;
inline constexpr int kInt8Bias = 128;
inline constexpr int kInt4Bias = 8;

constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t panel_count(std::int64_t outputs) { return ceil_divide(outputs, kPanelOutputs); }
constexpr std::int64_t group_count(std::int64_t inputs) { return ceil_divide(inputs, kGroupInputs); }
constexpr std::int64_t span_count(std::int64_t inputs) { return ceil_divide(inputs, kSpanInputs); }

constexpr std::int64_t panel_bytes(WeightFormat format, std::int64_t inputs) {
  switch (format) {
    case WeightFormat::F32:
      return inputs * kPanelOutputs * 4;
    case WeightFormat::Bf16:
      return ceil_divide(inputs, 2) * kPanelOutputs * 4;
    case WeightFormat::Int8:
      return group_count(inputs) * kInt8GroupBytes;
    case WeightFormat::Int4:
      return group_count(inputs) * kInt4GroupBytes;
  }
  return 0;
}

// Index of the byte, within a group's weights, of (output of the panel, input of the group).
constexpr std::int64_t int8_byte(std::int64_t output, std::int64_t input) {
  return (output / 16) * 512 + (input / 4) * 64 + (output % 16) * 4 + input % 4;
}
constexpr std::int64_t int4_byte(std::int64_t output, std::int64_t input) {
  return (output / 16) * 256 + (input / 4 % 4) * 64 + (output % 16) * 4 + input % 4;
}
constexpr int int4_shift(std::int64_t input) { return input < 16 ? 0 : 4; }

}  // namespace outrider::kernels
