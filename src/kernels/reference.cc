// The reference target: plain C++, one obvious loop per operation, the specification of the others. Speed
// comes only from the panel layout, whose 32 outputs a compiler may take side by side.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/kernel_table.h"
#include "kernels/layout.h"
#include "kernels/product.h"
#include "kernels/quantise.h"
#include "kernels/scalar.h"
#include "tensor/float16.h"

namespace outrider::kernels {
namespace {

using tensor::Bf16;

// ---- products ----

// Packed activations are the rows themselves.
std::int64_t float_row_bytes(std::int64_t inputs) { return inputs * 4; }

void pack_float(const float* const* rows, int row_count, std::int64_t inputs, std::byte* out) {
  for (int r = 0; r < row_count; ++r) {
    std::memcpy(out + r * inputs * 4, rows[r], static_cast<std::size_t>(inputs) * sizeof(float));
  }
}

void pack_rounded(const float* const* rows, int row_count, std::int64_t inputs, std::byte* out) {
  for (int r = 0; r < row_count; ++r) {
    float* to = reinterpret_cast<float*>(out) + r * inputs;
    for (std::int64_t k = 0; k < inputs; ++k) to[k] = tensor::to_float(tensor::to_bf16(rows[r][k]));
  }
}

void store_sums(const TileArgs& args, int row, const float* sums) {
  for (int o = 0; o < args.columns; ++o) {
    args.out[row * args.out_stride + o] = args.bias == nullptr ? sums[o] : sums[o] + args.bias[o];
  }
}

void tile_f32(const TileArgs& args) {
  const float* weights = reinterpret_cast<const float*>(args.panel);
  for (int r = 0; r < args.row_count; ++r) {
    const float* x = reinterpret_cast<const float*>(args.rows) + r * args.inputs;
    float sums[kPanelOutputs] = {};
    for (std::int64_t k = 0; k < args.inputs; ++k) {
      for (std::int64_t o = 0; o < kPanelOutputs; ++o) sums[o] += x[k] * weights[k * kPanelOutputs + o];
    }
    store_sums(args, r, sums);
  }
}

void tile_bf16(const TileArgs& args) {
  const Bf16* weights = reinterpret_cast<const Bf16*>(args.panel);
  for (int r = 0; r < args.row_count; ++r) {
    const float* x = reinterpret_cast<const float*>(args.rows) + r * args.inputs;
    float sums[kPanelOutputs] = {};
    for (std::int64_t k = 0; k < args.inputs; ++k) {
      const Bf16* column = weights + k / 2 * kPanelOutputs * 2 + k % 2;
      for (std::int64_t o = 0; o < kPanelOutputs; ++o) sums[o] += x[k] * tensor::to_float(column[o * 2]);
    }
    store_sums(args, r, sums);
  }
}

// One span of one row: 128 codes, zero where there are no inputs, then the scale.
struct QuantisedSpan {
  std::int8_t codes[kSpanInputs];
  float scale;
};

std::int64_t quantised_row_bytes(std::int64_t inputs) {
  return span_count(inputs) * static_cast<std::int64_t>(sizeof(QuantisedSpan));
}

void pack_quantised(const float* const* rows, int row_count, std::int64_t inputs, std::byte* out) {
  QuantisedSpan* span = reinterpret_cast<QuantisedSpan*>(out);
  for (int r = 0; r < row_count; ++r) {
    for (std::int64_t k = 0; k < inputs; k += kSpanInputs, ++span) {
      span->scale = quantise_activations(rows[r] + k, std::min(kSpanInputs, inputs - k), span->codes);
    }
  }
}

int int8_weight(const std::byte* group, std::int64_t o, std::int64_t k) {
  return static_cast<int>(group[kScaleBytes + int8_byte(o, k)]) - kInt8Bias;
}

int int4_weight(const std::byte* group, std::int64_t o, std::int64_t k) {
  return (static_cast<int>(group[kScaleBytes + int4_byte(o, k)]) >> int4_shift(k) & 15) - kInt4Bias;
}

// The arithmetic of quantised products, which every target reproduces bit for bit: the sum of a group is
// exact in integers; the groups of a span are added in ascending order, part = fma(float(group sum), weight
// scale, part); spans are added in ascending order, sum = fma(part, activation scale, sum).
template <int (*Weight)(const std::byte*, std::int64_t, std::int64_t), std::int64_t GroupBytes>
void tile_quantised(const TileArgs& args) {
  const std::int64_t groups = group_count(args.inputs), spans = span_count(args.inputs);
  for (int r = 0; r < args.row_count; ++r) {
    const QuantisedSpan* x = reinterpret_cast<const QuantisedSpan*>(args.rows) + r * spans;
    float sums[kPanelOutputs] = {};
    for (std::int64_t span = 0; span < spans; ++span) {
      const std::int64_t first = span * kSpanGroups, last = std::min(groups, first + kSpanGroups);
      for (std::int64_t o = 0; o < kPanelOutputs; ++o) {
        float part = 0;
        for (std::int64_t g = first; g < last; ++g) {
          const std::byte* group = args.panel + g * GroupBytes;
          const std::int8_t* codes = x[span].codes + (g - first) * kGroupInputs;
          int sum = 0;
          for (std::int64_t k = 0; k < kGroupInputs; ++k) sum += Weight(group, o, k) * codes[k];
          Bf16 scale;
          std::memcpy(&scale, group + o * 2, 2);
          part = std::fma(static_cast<float>(sum), tensor::to_float(scale), part);
        }
        sums[o] = std::fma(part, x[span].scale, sums[o]);
      }
    }
    store_sums(args, r, sums);
  }
}

// ---- elementwise ----

void rms_norm_row(const float* x, const float* weight, float epsilon, std::int64_t width, float* y) {
  float sum = 0;
  for (std::int64_t i = 0; i < width; ++i) sum += x[i] * x[i];
  const float factor = 1.0F / std::sqrt(sum / static_cast<float>(width) + epsilon);
  for (std::int64_t i = 0; i < width; ++i) y[i] = x[i] * factor * weight[i];
}

void rotate_head(float* x, const float* cosine, const float* sine, std::int64_t half) {
  for (std::int64_t j = 0; j < half; ++j) {
    const float a = x[j], b = x[j + half];
    x[j] = a * cosine[j] - b * sine[j];
    x[j + half] = b * cosine[j] + a * sine[j];
  }
}

void silu_multiply_row(const float* gate, const float* up, std::int64_t width, float* y) {
  for (std::int64_t i = 0; i < width; ++i) y[i] = gate[i] / (1.0F + std::exp(-gate[i])) * up[i];
}

void scale_add_row(float factor, const float* x, std::int64_t width, float* y) {
  for (std::int64_t i = 0; i < width; ++i) y[i] += factor * x[i];
}

void softmax_row(const float* x, std::int64_t width, float* out) {
  const float largest = *std::max_element(x, x + width);
  float sum = 0;
  for (std::int64_t i = 0; i < width; ++i) sum += out[i] = std::exp(x[i] - largest);
  for (std::int64_t i = 0; i < width; ++i) out[i] /= sum;
}

void round_bf16_row(const float* x, std::int64_t width, std::uint16_t* out) {
  for (std::int64_t i = 0; i < width; ++i) out[i] = static_cast<std::uint16_t>(tensor::to_bf16(x[i]));
}

// ---- attention ----

float stored(const void* data, KvDtype dtype, std::int64_t element) {
  if (dtype == KvDtype::F32) return static_cast<const float*>(data)[element];
  return tensor::to_float(static_cast<const Bf16*>(data)[element]);
}

std::int64_t head_element(const KvLayer& layer, const base::BlockId* blocks, int head,
                          std::int64_t position) {
  const std::int64_t block = base::index_of(blocks[position / layer.block_tokens]);
  return (block * layer.kv_heads + head) * layer.block_tokens * layer.head_width;
}

float score(const KvLayer& layer, const AttentionRow& row, int head, std::int64_t position, const float* q) {
  const std::int64_t element = head_element(layer, row.blocks, head, position);
  const std::int64_t slot = position % layer.block_tokens;
  float sum = 0;
  for (int d = 0; d < layer.head_width; ++d) {
    sum += q[d] * stored(layer.keys, layer.dtype, element + key_element(layer, slot, d));
  }
  return sum;
}

// Scores are computed twice rather than kept: no room is needed that grows with the context.
void attend_head(const KvLayer& layer, const AttentionRow& row, int head, float scale, const float* q,
                 float* out) {
  float largest = -std::numeric_limits<float>::infinity();
  for (std::int64_t p = row.first; p < row.last; ++p) {
    largest = std::max(largest, scale * score(layer, row, head, p, q));
  }
  std::fill_n(out, layer.head_width, 0.0F);
  float sum = 0;
  for (std::int64_t p = row.first; p < row.last; ++p) {
    const float weight = std::exp(scale * score(layer, row, head, p, q) - largest);
    const std::int64_t element =
        head_element(layer, row.blocks, head, p) + p % layer.block_tokens * layer.head_width;
    sum += weight;
    for (int d = 0; d < layer.head_width; ++d) {
      out[d] += weight * stored(layer.values, layer.dtype, element + d);
    }
  }
  for (int d = 0; d < layer.head_width; ++d) out[d] /= sum;
}

void attend_rows(const AttendArgs& args) {
  for (int r = 0; r < args.row_count; ++r) {
    for (int h = 0; h < args.group_size; ++h) {
      const std::int64_t channel = static_cast<std::int64_t>(h) * args.layer->head_width;
      attend_head(*args.layer, args.rows[r], args.kv_head, args.scale, args.q + r * args.q_stride + channel,
                  args.out + r * args.out_stride + channel);
    }
  }
}

std::int64_t no_scratch(int, int, int) { return 0; }

// ---- probes ----

// What the result is stored to, so that the work cannot be left out.
template <class Value>
void keep(Value value) {
  volatile Value kept = value;
  (void)kept;
}

void read_lines(const std::byte* from, std::int64_t bytes) {
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i + 8 <= bytes; i += 8) {
    std::uint64_t word;
    std::memcpy(&word, from + i, 8);
    sum += word;
  }
  keep(sum);
}

std::int64_t dot_burst(DotKind kind, std::int64_t rounds) {
  constexpr int kSums = 32;
  if (kind != DotKind::Fp32) return 0;
  float sums[kSums] = {};
  for (std::int64_t i = 0; i < rounds; ++i) {
    for (float& sum : sums) sum = sum * 0.5F + 1.0F;
  }
  for (const float sum : sums) keep(sum);
  return rounds * kSums * 2;
}

constexpr ProductKernel kFloat{kTileRowsMax, float_row_bytes, pack_float, tile_f32, 0};
constexpr ProductKernel kFloatRounded{kTileRowsMax, float_row_bytes, pack_rounded, tile_f32, 0};
constexpr ProductKernel kBf16{kTileRowsMax, float_row_bytes, pack_float, tile_bf16, 0};
constexpr ProductKernel kBf16Rounded{kTileRowsMax, float_row_bytes, pack_rounded, tile_bf16, 0};
constexpr ProductKernel kInt8{kTileRowsMax, quantised_row_bytes, pack_quantised,
                              tile_quantised<int8_weight, kInt8GroupBytes>, 0};
constexpr ProductKernel kInt4{kTileRowsMax, quantised_row_bytes, pack_quantised,
                              tile_quantised<int4_weight, kInt4GroupBytes>, 0};

constexpr KernelTable kReference{
    .products = {{kFloat, kFloatRounded}, {kBf16, kBf16Rounded}, {kInt8, kInt8}, {kInt4, kInt4}},
    .rms_norm = rms_norm_row,
    .rotate = rotate_head,
    .silu_multiply = silu_multiply_row,
    .scale_add = scale_add_row,
    .softmax = softmax_row,
    .round_bf16 = round_bf16_row,
    .argmax = take_larger,
    .quantise_int8 = quantise_int8,
    .quantise_int4 = quantise_int4,
    .attend = attend_rows,
    .attend_scratch_floats = no_scratch,
    .read_bytes = read_lines,
    .dot_burst = dot_burst,
};

}  // namespace

const KernelTable& reference_table() { return kReference; }

}  // namespace outrider::kernels
