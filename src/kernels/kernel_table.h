// One function per operation and target. Everything above these functions (threads, tiles, grouping) is
// common to the targets; everything below knows one instruction set. A function handles any size, aligns
// nothing and allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention.h"
#include "kernels/executor.h"
#include "kernels/linear.h"
#include "kernels/probe.h"
#include "tensor/float16.h"

namespace outrider::kernels {

// One tile of a product: `row_count` rows of packed activations against one panel (layout.h).
struct TileArgs {
  const std::byte* panel;
  const std::byte* rows;
  std::int64_t inputs;
  int row_count;      // 1 .. tile_rows
  int columns;        // 1 .. 32: outputs to store
  const float* bias;  // of the panel's first output, or null
  float* out;
  std::int64_t out_stride;
};

struct ProductKernel {
  int tile_rows;  // the most rows whose sums stay in registers
  // Bytes of one row of packed activations; those of a tile lie together, in an order of the target's own.
  std::int64_t (*row_bytes)(std::int64_t inputs);
  void (*pack)(const float* const* rows, int row_count, std::int64_t inputs, std::byte* out);
  void (*tile)(const TileArgs&);
  // Inputs that begin at a multiple of this may be packed apart, at row_count * row_bytes(where they begin);
  // 0: not.
  std::int64_t pack_unit;
};

// Rows of one sequence (equal block tables) against one kv head. q and out point at the first of the head's
// group.
struct AttendArgs {
  const float* q;
  std::int64_t q_stride;
  float* out;
  std::int64_t out_stride;
  const AttentionRow* rows;
  int row_count;   // 1 .. kAttendRows
  int group_size;  // query heads that read this kv head
  int kv_head;
  const KvLayer* layer;
  float scale;
  float* scratch;                    // attend_scratch_floats()
  const AttendArgs* next = nullptr;  // what the thread does afterwards: its cache may be asked for
};
inline constexpr int kAttendRows = 16;

struct KernelTable {
  ProductKernel products[4][2];  // [WeightFormat][Arithmetic]

  // y = x / sqrt(mean(x^2) + epsilon) * weight; y may be x.
  void (*rms_norm)(const float* x, const float* weight, float epsilon, std::int64_t width, float* y);
  // (x[j], x[j + half]) turned by the angle of channel j, in place.
  void (*rotate)(float* x, const float* cosine, const float* sine, std::int64_t half);
  // y = silu(gate) * up.
  void (*silu_multiply)(const float* gate, const float* up, std::int64_t width, float* y);
  // y += factor * x.
  void (*scale_add)(float factor, const float* x, std::int64_t width, float* y);
  // out = exp(x - max(x)) / sum.
  void (*softmax)(const float* x, std::int64_t width, float* out);
  void (*round_bf16)(const float* x, std::int64_t width, std::uint16_t* out);
  // If one of x is larger than *value (or the first that is a number), moves *value and *index (x[0] has
  // index `first`).
  void (*argmax)(const float* x, std::int64_t width, std::int32_t first, float* value, std::int32_t* index);

  // A group of 32 weights to codes and its scale: quantise.h, bit for bit.
  tensor::Bf16 (*quantise_int8)(const float* weights, std::int8_t* codes);
  tensor::Bf16 (*quantise_int4)(const float* weights, std::int8_t* codes);

  void (*attend)(const AttendArgs&);
  std::int64_t (*attend_scratch_floats)(int row_count, int group_size, int head_width);

  // For probe.h: reads every cache line; and runs `rounds` of dot products in registers, giving the count of
  // operations.
  void (*read_bytes)(const std::byte* from, std::int64_t bytes);
  std::int64_t (*dot_burst)(DotKind kind, std::int64_t rounds);
};

const KernelTable& reference_table();
const KernelTable& avx2_table();
const KernelTable& avx512_table();

inline const ProductKernel& product_of(const KernelTable& table, WeightFormat format, Arithmetic arithmetic) {
  return table.products[static_cast<int>(format)][static_cast<int>(arithmetic)];
}

}  // namespace outrider::kernels
