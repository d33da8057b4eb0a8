// The AVX2 target (with FMA): sixteen registers, so tiles of few rows. bf16 weights are widened to fp32 in
// either arithmetic.
#include "kernels/kernel_table.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/layout.h"
#include "kernels/product.h"
#include "kernels/quantise.h"
#include "kernels/scalar.h"
#include "kernels/target_region.h"

OUTRIDER_BEGIN_TARGET("avx2,fma")

namespace outrider::kernels {
namespace {

#include "kernels/vector_avx2.inc"
// Written with V.
#include "kernels/elementwise.inc"
#include "kernels/quantise.inc"
// Uses both.
#include "kernels/attend.inc"

constexpr int kFloatRows = 3;
constexpr int kQuantisedRows = 4;
constexpr int kParts = 4;  // registers of 8 outputs in a panel

constexpr std::int64_t kPrefetchBytes = 4096;

inline void prefetch(const std::byte* at) {
  _mm_prefetch(reinterpret_cast<const char*>(at + kPrefetchBytes), _MM_HINT_T0);
}

inline __m256i load_bytes(const std::byte* from) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(from));
}

template <int Rows>
inline void store_tile(const TileArgs& args, const __m256 (&sums)[Rows][kParts]) {
  for (int r = 0; r < Rows; ++r) {
    for (int half = 0; half < 2; ++half) {
      const int columns = std::min(args.columns - half * kLanes, kLanes);
      if (columns <= 0) continue;
      V sum{sums[r][2 * half], sums[r][2 * half + 1]};
      if (args.bias != nullptr) sum = sum + load_part(args.bias + half * kLanes, columns);
      store_part(args.out + r * args.out_stride + half * kLanes, sum, columns);
    }
  }
}

// ---- float activations: [input][row] float ----

std::int64_t float_row_bytes(std::int64_t inputs) { return (inputs + 1) / 2 * 8; }

template <bool Round>
void pack_float(const float* const* rows, int row_count, std::int64_t inputs, std::byte* out) {
  float* to = reinterpret_cast<float*>(out);
  for (std::int64_t k = 0; k < inputs; k += kLanes) {
    const std::int64_t count = std::min<std::int64_t>(kLanes, inputs - k);
    for (int r = 0; r < row_count; ++r) {
      float values[kLanes];
      store(values, load_part(rows[r] + k, count));
      if constexpr (Round) {
        std::uint16_t bits[kLanes];
        store_bf16_part(bits, load(values), kLanes);
        store(values, load_bf16(bits));
      }
      for (std::int64_t i = 0; i < count; ++i) to[(k + i) * row_count + r] = values[i];
    }
  }
  if (inputs % 2 != 0) std::fill_n(to + inputs * row_count, row_count, 0.0F);
}

template <int Rows>
void tile_f32(const TileArgs& args) {
  const std::byte* weights = args.panel;
  const float* x = reinterpret_cast<const float*>(args.rows);
  __m256 sums[Rows][kParts];
  for (int r = 0; r < Rows; ++r) {
    for (int j = 0; j < kParts; ++j) sums[r][j] = _mm256_setzero_ps();
  }
  for (std::int64_t k = 0; k < args.inputs; ++k, weights += 128, x += Rows) {
    prefetch(weights);
    prefetch(weights + 64);
    OUTRIDER_UNROLL
    for (int j = 0; j < kParts; ++j) {
      const __m256 w = _mm256_castsi256_ps(load_bytes(weights + j * 32));
      OUTRIDER_UNROLL
      for (int r = 0; r < Rows; ++r) sums[r][j] = _mm256_fmadd_ps(w, _mm256_broadcast_ss(x + r), sums[r][j]);
    }
  }
  store_tile<Rows>(args, sums);
}

template <int Rows>
void tile_bf16(const TileArgs& args) {
  const std::byte* weights = args.panel;
  const float* x = reinterpret_cast<const float*>(args.rows);
  const __m256i upper = _mm256_set1_epi32(static_cast<int>(0xFFFF0000U));
  __m256 sums[Rows][kParts];
  for (int r = 0; r < Rows; ++r) {
    for (int j = 0; j < kParts; ++j) sums[r][j] = _mm256_setzero_ps();
  }
  for (std::int64_t k = 0; k < args.inputs; k += 2, weights += 128, x += 2 * Rows) {
    prefetch(weights);
    prefetch(weights + 64);
    OUTRIDER_UNROLL
    for (int j = 0; j < kParts; ++j) {
      const __m256i pairs = load_bytes(weights + j * 32);
      const __m256 even = _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16));
      const __m256 odd = _mm256_castsi256_ps(_mm256_and_si256(pairs, upper));
      OUTRIDER_UNROLL
      for (int r = 0; r < Rows; ++r) {
        sums[r][j] = _mm256_fmadd_ps(even, _mm256_broadcast_ss(x + r), sums[r][j]);
        sums[r][j] = _mm256_fmadd_ps(odd, _mm256_broadcast_ss(x + Rows + r), sums[r][j]);
      }
    }
  }
  store_tile<Rows>(args, sums);
}

// ---- quantised activations ----
// VPMADDUBSW adds two products of an unsigned and a signed byte in 16 bits, and saturates. With nibbles it
// cannot: eight such sums still fit (16 * 15 * 127 < 2^15). Bytes are widened to 16 bits instead: even and
// odd inputs apart, VPMADDWD, exact.
//
// Rows of a tile, span by span (layout.h): for each group int8 [quad][row][even pair, odd pair] int16, int4
// [quad][row][4] int8, then [row] correction; after the span's groups [row] scale.

template <bool Nibbles>
constexpr std::int64_t kQuadIntegers = Nibbles ? 1 : 2;
template <bool Nibbles>
constexpr std::int64_t kGroupRowIntegers = 8 * kQuadIntegers<Nibbles> + 1;

template <bool Nibbles>
std::int64_t quantised_row_bytes(std::int64_t inputs) {
  return (group_count(inputs) * kGroupRowIntegers<Nibbles> + span_count(inputs)) * 4;
}

// The 32 codes of one row's group and the correction for the weights' bias.
template <bool Nibbles>
inline void put_group(const std::int8_t* codes, int row_count, int row, std::int32_t* group) {
  constexpr std::int64_t kIntegers = kQuadIntegers<Nibbles>;
  int sum = 0;
  for (int i = 0; i < kGroupInputs; ++i) sum += codes[i];
  for (int q = 0; q < 8; ++q) {
    std::int32_t* to = group + (q * row_count + row) * kIntegers;
    const std::int8_t* quad = codes + q * 4;
    if constexpr (Nibbles) {
      std::memcpy(to, quad, 4);
    } else {
      const std::int16_t wide[4] = {quad[0], quad[2], quad[1], quad[3]};
      std::memcpy(to, wide, 8);
    }
  }
  group[8 * kIntegers * row_count + row] = (Nibbles ? -kInt4Bias : -kInt8Bias) * sum;
}

template <bool Nibbles>
void pack_quantised(const float* const* rows, int row_count, std::int64_t inputs, std::byte* out) {
  constexpr std::int64_t kIntegers = kGroupRowIntegers<Nibbles>;
  std::int32_t* span = reinterpret_cast<std::int32_t*>(out);
  for (std::int64_t k = 0; k < inputs; k += kSpanInputs) {
    const std::int64_t count = std::min(kSpanInputs, inputs - k), groups = group_count(count);
    for (int r = 0; r < row_count; ++r) {
      std::int8_t codes[kSpanInputs];
      const float scale = quantise_activations(rows[r] + k, count, codes);
      for (std::int64_t g = 0; g < groups; ++g) {
        put_group<Nibbles>(codes + g * kGroupInputs, row_count, r, span + g * kIntegers * row_count);
      }
      std::memcpy(span + groups * kIntegers * row_count + r, &scale, 4);
    }
    span += (groups * kIntegers + 1) * row_count;
  }
}

// Integer sums of 8 outputs for each row, without the correction.
template <int Rows>
inline void dot_bytes(const std::byte* weights, const std::int32_t* quads, __m256i (&sums)[Rows]) {
  OUTRIDER_UNROLL
  for (int q = 0; q < 8; ++q) {
    const __m256i bytes = load_bytes(weights + q * 64);
    const __m256i even = _mm256_and_si256(bytes, _mm256_set1_epi16(255)), odd = _mm256_srli_epi16(bytes, 8);
    OUTRIDER_UNROLL
    for (int r = 0; r < Rows; ++r) {
      const std::int32_t* x = quads + (q * Rows + r) * 2;
      sums[r] = _mm256_add_epi32(sums[r], _mm256_add_epi32(_mm256_madd_epi16(even, _mm256_set1_epi32(x[0])),
                                                           _mm256_madd_epi16(odd, _mm256_set1_epi32(x[1]))));
    }
  }
}

template <int Rows>
inline void dot_nibbles(const std::byte* weights, const std::int32_t* quads, __m256i (&sums)[Rows]) {
  const __m256i mask = _mm256_set1_epi8(15);
  __m256i narrow[Rows];
  OUTRIDER_UNROLL
  for (int r = 0; r < Rows; ++r) narrow[r] = _mm256_setzero_si256();
  OUTRIDER_UNROLL
  for (int q = 0; q < 4; ++q) {
    const __m256i both = load_bytes(weights + q * 64);
    const __m256i low = _mm256_and_si256(both, mask),
                  high = _mm256_and_si256(_mm256_srli_epi16(both, 4), mask);
    OUTRIDER_UNROLL
    for (int r = 0; r < Rows; ++r) {
      const __m256i first = _mm256_maddubs_epi16(low, _mm256_set1_epi32(quads[q * Rows + r]));
      const __m256i second = _mm256_maddubs_epi16(high, _mm256_set1_epi32(quads[(q + 4) * Rows + r]));
      narrow[r] = _mm256_add_epi16(narrow[r], _mm256_add_epi16(first, second));
    }
  }
  OUTRIDER_UNROLL
  for (int r = 0; r < Rows; ++r) {
    sums[r] = _mm256_add_epi32(sums[r], _mm256_madd_epi16(narrow[r], _mm256_set1_epi16(1)));
  }
}

// One span of 8 outputs: groups are added with the weights' scales, then once with the rows' scales to
// `sums`.
template <int Rows, bool Nibbles>
inline void add_span(const std::byte* weights, int j, std::int64_t groups, const std::int32_t* x,
                     __m256 (&sums)[Rows][kParts]) {
  constexpr std::int64_t kGroupBytes = Nibbles ? kInt4GroupBytes : kInt8GroupBytes;
  constexpr std::int64_t kHalfBytes = (kGroupBytes - kScaleBytes) / 2;
  __m256 parts[Rows];
  OUTRIDER_UNROLL
  for (int r = 0; r < Rows; ++r) parts[r] = _mm256_setzero_ps();
  for (std::int64_t g = 0; g < groups; ++g, weights += kGroupBytes, x += kGroupRowIntegers<Nibbles> * Rows) {
    if (j == 0) {
      for (std::int64_t line = 0; line < kGroupBytes; line += 64) prefetch(weights + line);
    }
    const std::byte* part = weights + kScaleBytes + j / 2 * kHalfBytes + j % 2 * 32;
    __m256i exact[Rows];
    OUTRIDER_UNROLL
    for (int r = 0; r < Rows; ++r) exact[r] = _mm256_set1_epi32(x[8 * kQuadIntegers<Nibbles> * Rows + r]);
    if constexpr (Nibbles) {
      dot_nibbles<Rows>(part, x, exact);
    } else {
      dot_bytes<Rows>(part, x, exact);
    }
    const __m256 scale = widen_bf16(reinterpret_cast<const std::uint16_t*>(weights) + j * 8);
    OUTRIDER_UNROLL
    for (int r = 0; r < Rows; ++r) {
      parts[r] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(exact[r]), scale, parts[r]);
    }
  }
  OUTRIDER_UNROLL
  for (int r = 0; r < Rows; ++r) {
    float row_scale;
    std::memcpy(&row_scale, x + r, 4);
    sums[r][j] = _mm256_fmadd_ps(parts[r], _mm256_set1_ps(row_scale), sums[r][j]);
  }
}

template <int Rows, bool Nibbles>
void tile_quantised(const TileArgs& args) {
  constexpr std::int64_t kGroupBytes = Nibbles ? kInt4GroupBytes : kInt8GroupBytes;
  const std::int64_t groups = group_count(args.inputs);
  const std::byte* weights = args.panel;
  const std::int32_t* x = reinterpret_cast<const std::int32_t*>(args.rows);
  // More sums than registers: they live in the first-level cache and are touched once a span.
  __m256 sums[Rows][kParts];
  for (int r = 0; r < Rows; ++r) {
    for (int j = 0; j < kParts; ++j) sums[r][j] = _mm256_setzero_ps();
  }
  for (std::int64_t g = 0; g < groups; g += kSpanGroups) {
    const std::int64_t count = std::min(kSpanGroups, groups - g);
    for (int j = 0; j < kParts; ++j) add_span<Rows, Nibbles>(weights, j, count, x, sums);
    weights += count * kGroupBytes;
    x += (count * kGroupRowIntegers<Nibbles> + 1) * Rows;
  }
  store_tile<Rows>(args, sums);
}

#include "kernels/probe_avx2.inc"

// ---- the table ----

using Tile = void (*)(const TileArgs&);

constexpr Tile kTilesF32[] = {tile_f32<1>, tile_f32<2>, tile_f32<3>};
constexpr Tile kTilesBf16[] = {tile_bf16<1>, tile_bf16<2>, tile_bf16<3>};
template <bool Nibbles>
constexpr Tile kTilesQuantised[] = {tile_quantised<1, Nibbles>, tile_quantised<2, Nibbles>,
                                    tile_quantised<3, Nibbles>, tile_quantised<4, Nibbles>};

void run_f32(const TileArgs& args) { kTilesF32[args.row_count - 1](args); }
void run_bf16(const TileArgs& args) { kTilesBf16[args.row_count - 1](args); }
template <bool Nibbles>
void run_quantised(const TileArgs& args) {
  kTilesQuantised<Nibbles>[args.row_count - 1](args);
}

constexpr ProductKernel kFloat{kFloatRows, float_row_bytes, pack_float<false>, run_f32, kSpanInputs};
constexpr ProductKernel kFloatRounded{kFloatRows, float_row_bytes, pack_float<true>, run_f32, kSpanInputs};
constexpr ProductKernel kBf16{kFloatRows, float_row_bytes, pack_float<false>, run_bf16, kSpanInputs};
constexpr ProductKernel kBf16Rounded{kFloatRows, float_row_bytes, pack_float<true>, run_bf16, kSpanInputs};
constexpr ProductKernel kInt8{kQuantisedRows, quantised_row_bytes<false>, pack_quantised<false>,
                              run_quantised<false>, kSpanInputs};
constexpr ProductKernel kInt4{kQuantisedRows, quantised_row_bytes<true>, pack_quantised<true>,
                              run_quantised<true>, kSpanInputs};

constexpr KernelTable kTable{
    .products = {{kFloat, kFloatRounded}, {kBf16, kBf16Rounded}, {kInt8, kInt8}, {kInt4, kInt4}},
    .rms_norm = rms_norm_row,
    .rotate = rotate_head,
    .silu_multiply = silu_multiply_row,
    .scale_add = scale_add_row,
    .softmax = softmax_row,
    .round_bf16 = round_bf16_row,
    .argmax = argmax_row,
    .quantise_int8 = quantise_int8_group,
    .quantise_int4 = quantise_int4_group,
    .attend = attend_rows,
    .attend_scratch_floats = attend_floats,
    .read_bytes = read_lines,
    .dot_burst = dot_burst,
};

}  // namespace

const KernelTable& avx2_table() { return kTable; }

}  // namespace outrider::kernels

OUTRIDER_END_TARGET
#endif
