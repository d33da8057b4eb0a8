// The AVX-512 target (F, BW, DQ, VL, BF16, VNNI; Zen 4, Sapphire Rapids and later).
//
// Products: two registers hold a panel's 32 outputs, each row of the tile has two sums in registers, and its
// activations come as broadcasts. An output's sum is one sequence over the inputs, whatever the tile's row
// count.
#include "kernels/kernel_table.h"

#if defined(__x86_64__)
#if !defined(__clang__)
// g++ 12 warns of the deliberately undefined registers of its own intrinsics (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
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

OUTRIDER_BEGIN_TARGET("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx512vnni")

namespace outrider::kernels {
namespace {

#include "kernels/vector_avx512.inc"
// Written with V.
#include "kernels/elementwise.inc"
#include "kernels/quantise.inc"
// Uses both.
#include "kernels/attend.inc"

constexpr int kFloatRows = 12;
constexpr int kQuantisedRows = 12;

// How far ahead of use weights are asked for. Where few products are done a line, the memory sets the pace,
// and one distance streams best; where many are, lines that are asked for in two steps, into the second level
// and then into the first, come in time instead of by fits and starts (docs/decisions/packed-weights.md).
constexpr std::int64_t kPrefetchBytes = 8192, kNearBytes = 2048, kFarBytes = 12288;
constexpr int kManyProducts = 6;

template <int ProductsALine = 1>
inline void prefetch(const std::byte* at) {
  const char* from = reinterpret_cast<const char*>(at);
  if constexpr (ProductsALine >= kManyProducts) {
    _mm_prefetch(from + kNearBytes, _MM_HINT_T0);
    _mm_prefetch(from + kFarBytes, _MM_HINT_T1);
  } else {
    _mm_prefetch(from + kPrefetchBytes, _MM_HINT_T0);
  }
}

inline __m512i load_bytes(const std::byte* from) { return _mm512_load_si512(from); }

// Weights come through here: each line is asked for once, evenly spread between the loads.
template <int ProductsALine>
inline __m512i load_weights(const std::byte* from) {
  prefetch<ProductsALine>(from);
  return load_bytes(from);
}

template <int Rows>
inline void store_tile(const TileArgs& args, const __m512 (&sums)[Rows][2]) {
  const __mmask16 low = first_lanes(std::min(args.columns, 16));
  const __mmask16 high = first_lanes(std::max(args.columns - 16, 0));
  __m512 bias[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
  if (args.bias != nullptr) {
    bias[0] = _mm512_maskz_loadu_ps(low, args.bias);
    bias[1] = _mm512_maskz_loadu_ps(high, args.bias + 16);
  }
  OUTRIDER_UNROLL
  for (int r = 0; r < Rows; ++r) {
    float* out = args.out + r * args.out_stride;
    const bool add = args.bias != nullptr;
    _mm512_mask_storeu_ps(out, low, add ? _mm512_add_ps(sums[r][0], bias[0]) : sums[r][0]);
    _mm512_mask_storeu_ps(out + 16, high, add ? _mm512_add_ps(sums[r][1], bias[1]) : sums[r][1]);
  }
}

// ---- float activations: [input][row] float ----

std::int64_t float_row_bytes(std::int64_t inputs) { return (inputs + 1) / 2 * 8; }

// Inputs go in chunks so that the interleaved rows stay in the first-level cache; an odd count is filled up
// with zero.
constexpr std::int64_t kPackChunk = 64;

template <bool Round>
void pack_float(const float* const* rows, int row_count, std::int64_t inputs, std::byte* out) {
  float* to = reinterpret_cast<float*>(out);
  for (std::int64_t first = 0; first < inputs; first += kPackChunk) {
    const std::int64_t count = std::min(kPackChunk, inputs - first);
    for (int r = 0; r < row_count; ++r) {
      const float* from = rows[r] + first;
      float rounded[kPackChunk];
      if constexpr (Round) {
        std::uint16_t bits[kPackChunk];
        round_bf16_row(from, count, bits);
        for (std::int64_t k = 0; k < count; k += kLanes) store(rounded + k, load_bf16(bits + k));
        from = rounded;
      }
      float* column = to + first * row_count + r;
      for (std::int64_t k = 0; k < count; ++k) column[k * row_count] = from[k];
    }
  }
  if (inputs % 2 != 0) std::fill_n(to + inputs * row_count, row_count, 0.0F);
}

template <int Rows>
void tile_f32(const TileArgs& args) {
  const std::byte* weights = args.panel;
  const float* x = reinterpret_cast<const float*>(args.rows);
  __m512 sums[Rows][2];
  OUTRIDER_UNROLL
  for (int r = 0; r < Rows; ++r) sums[r][0] = sums[r][1] = _mm512_setzero_ps();
  for (std::int64_t k = 0; k < args.inputs; ++k, weights += 128, x += Rows) {
    prefetch(weights);
    prefetch(weights + 64);
    const __m512 low = _mm512_castsi512_ps(load_bytes(weights)),
                 high = _mm512_castsi512_ps(load_bytes(weights + 64));
    OUTRIDER_UNROLL
    for (int r = 0; r < Rows; ++r) {
      const __m512 xr = _mm512_set1_ps(x[r]);
      sums[r][0] = _mm512_fmadd_ps(low, xr, sums[r][0]);
      sums[r][1] = _mm512_fmadd_ps(high, xr, sums[r][1]);
    }
  }
  store_tile<Rows>(args, sums);
}

inline __m512 even_inputs(__m512i pairs) { return _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16)); }
inline __m512 odd_inputs(__m512i pairs) {
  return _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<int>(0xFFFF0000U))));
}

// bf16 weights, strict fp32: each pair is widened once for all rows.
template <int Rows>
void tile_bf16_float(const TileArgs& args) {
  const std::byte* weights = args.panel;
  const float* x = reinterpret_cast<const float*>(args.rows);
  __m512 sums[Rows][2];
  OUTRIDER_UNROLL
  for (int r = 0; r < Rows; ++r) sums[r][0] = sums[r][1] = _mm512_setzero_ps();
  for (std::int64_t k = 0; k < args.inputs; k += 2, weights += 128, x += 2 * Rows) {
    const __m512i low = load_weights<2 * Rows>(weights), high = load_weights<2 * Rows>(weights + 64);
    const __m512 low_even = even_inputs(low), high_even = even_inputs(high);
    const __m512 low_odd = odd_inputs(low), high_odd = odd_inputs(high);
    OUTRIDER_UNROLL
    for (int r = 0; r < Rows; ++r) {
      const __m512 even = _mm512_set1_ps(x[r]), odd = _mm512_set1_ps(x[Rows + r]);
      sums[r][0] = _mm512_fmadd_ps(low_odd, odd, _mm512_fmadd_ps(low_even, even, sums[r][0]));
      sums[r][1] = _mm512_fmadd_ps(high_odd, odd, _mm512_fmadd_ps(high_even, even, sums[r][1]));
    }
  }
  store_tile<Rows>(args, sums);
}

// ---- bf16 activations: [pair of inputs][row][2] bf16 ----

std::int64_t pair_row_bytes(std::int64_t inputs) { return (inputs + 1) / 2 * 4; }

void pack_pairs(const float* const* rows, int row_count, std::int64_t inputs, std::byte* out) {
  std::uint32_t* to = reinterpret_cast<std::uint32_t*>(out);
  for (std::int64_t first = 0; first < inputs; first += kPackChunk) {
    const std::int64_t count = std::min(kPackChunk, inputs - first), pairs = (count + 1) / 2;
    for (int r = 0; r < row_count; ++r) {
      std::uint16_t bits[kPackChunk + 2];
      round_bf16_row(rows[r] + first, count, bits);
      bits[count] = 0;
      std::uint32_t* column = to + first / 2 * row_count + r;
      for (std::int64_t i = 0; i < pairs; ++i) std::memcpy(column + i * row_count, bits + 2 * i, 4);
    }
  }
}

template <int Rows>
void tile_bf16(const TileArgs& args) {
  const std::byte* weights = args.panel;
  const std::int32_t* x = reinterpret_cast<const std::int32_t*>(args.rows);
  __m512 sums[Rows][2];
  OUTRIDER_UNROLL
  for (int r = 0; r < Rows; ++r) sums[r][0] = sums[r][1] = _mm512_setzero_ps();
  for (std::int64_t k = 0; k < args.inputs; k += 2, weights += 128, x += Rows) {
    const __m512bh low = (__m512bh)load_weights<Rows>(weights),
                   high = (__m512bh)load_weights<Rows>(weights + 64);
    OUTRIDER_UNROLL
    for (int r = 0; r < Rows; ++r) {
      const __m512bh xr = (__m512bh)_mm512_set1_epi32(x[r]);
      sums[r][0] = _mm512_dpbf16_ps(sums[r][0], low, xr);
      sums[r][1] = _mm512_dpbf16_ps(sums[r][1], high, xr);
    }
  }
  store_tile<Rows>(args, sums);
}

#include "kernels/probe_avx512.inc"
#include "kernels/quantised_avx512.inc"

// ---- the table ----

using Tile = void (*)(const TileArgs&);

constexpr Tile kTilesF32[] = {tile_f32<1>, tile_f32<2>,  tile_f32<3>,  tile_f32<4>,
                              tile_f32<5>, tile_f32<6>,  tile_f32<7>,  tile_f32<8>,
                              tile_f32<9>, tile_f32<10>, tile_f32<11>, tile_f32<12>};
constexpr Tile kTilesBf16Float[] = {tile_bf16_float<1>,  tile_bf16_float<2>,  tile_bf16_float<3>,
                                    tile_bf16_float<4>,  tile_bf16_float<5>,  tile_bf16_float<6>,
                                    tile_bf16_float<7>,  tile_bf16_float<8>,  tile_bf16_float<9>,
                                    tile_bf16_float<10>, tile_bf16_float<11>, tile_bf16_float<12>};
constexpr Tile kTilesBf16[] = {tile_bf16<1>, tile_bf16<2>,  tile_bf16<3>,  tile_bf16<4>,
                               tile_bf16<5>, tile_bf16<6>,  tile_bf16<7>,  tile_bf16<8>,
                               tile_bf16<9>, tile_bf16<10>, tile_bf16<11>, tile_bf16<12>};
template <bool Nibbles>
constexpr Tile kTilesQuantised[] = {
    tile_quantised<1, Nibbles>,  tile_quantised<2, Nibbles>,  tile_quantised<3, Nibbles>,
    tile_quantised<4, Nibbles>,  tile_quantised<5, Nibbles>,  tile_quantised<6, Nibbles>,
    tile_quantised<7, Nibbles>,  tile_quantised<8, Nibbles>,  tile_quantised<9, Nibbles>,
    tile_quantised<10, Nibbles>, tile_quantised<11, Nibbles>, tile_quantised<12, Nibbles>};

void run_f32(const TileArgs& args) { kTilesF32[args.row_count - 1](args); }
void run_bf16_float(const TileArgs& args) { kTilesBf16Float[args.row_count - 1](args); }
void run_bf16(const TileArgs& args) { kTilesBf16[args.row_count - 1](args); }
template <bool Nibbles>
void run_quantised(const TileArgs& args) {
  kTilesQuantised<Nibbles>[args.row_count - 1](args);
}

constexpr ProductKernel kFloat{kFloatRows, float_row_bytes, pack_float<false>, run_f32, kSpanInputs};
constexpr ProductKernel kFloatRounded{kFloatRows, float_row_bytes, pack_float<true>, run_f32, kSpanInputs};
constexpr ProductKernel kBf16Float{kFloatRows, float_row_bytes, pack_float<false>, run_bf16_float,
                                   kSpanInputs};
constexpr ProductKernel kBf16{kFloatRows, pair_row_bytes, pack_pairs, run_bf16, kSpanInputs};
constexpr ProductKernel kInt8{kQuantisedRows, quantised_row_bytes, pack_quantised<kInt8Bias>,
                              run_quantised<false>, kSpanInputs};
constexpr ProductKernel kInt4{kQuantisedRows, quantised_row_bytes, pack_quantised<kInt4Bias>,
                              run_quantised<true>, kSpanInputs};

constexpr KernelTable kTable{
    .products = {{kFloat, kFloatRounded}, {kBf16Float, kBf16}, {kInt8, kInt8}, {kInt4, kInt4}},
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

const KernelTable& avx512_table() { return kTable; }

}  // namespace outrider::kernels

OUTRIDER_END_TARGET
#endif
