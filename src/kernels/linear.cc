#include "kernels/linear.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "kernels/kernel_table.h"
#include "kernels/product.h"

namespace outrider::kernels {
namespace {

enum Slot { kPackedSlot = 0, kBestSlot = 1 };

// Packed activations of a block of rows stay in the second-level cache while all panels of a thread pass over
// them.
constexpr std::int64_t kRowBlockBytes = 384 << 10;

struct PackedRows {
  const std::byte* data;
  std::int64_t row_bytes;
  std::int64_t rows;
  TileSplit split;
};

PackedRows pack_rows(Executor& executor, const ProductKernel& kernel, tensor::MatrixView<const float> x) {
  const std::int64_t row_bytes = kernel.row_bytes(x.columns);
  std::byte* data = executor.scratch(kPackedSlot, static_cast<std::size_t>(x.rows * row_bytes));
  const TileSplit split = split_tiles(x.rows, kernel.tile_rows);
  // Inputs [inputs.first, inputs.last) of a tile's rows.
  const auto pack = [&](Share rows, Share inputs) {
    const float* pointers[kTileRowsMax];
    const std::int64_t count = rows.last - rows.first;
    for (std::int64_t r = rows.first; r < rows.last; ++r) pointers[r - rows.first] = x.row(r) + inputs.first;
    kernel.pack(pointers, static_cast<int>(count), inputs.last - inputs.first,
                data + rows.first * row_bytes + count * kernel.row_bytes(inputs.first));
  };
  const std::int64_t unit = kernel.pack_unit, elements = x.rows * x.columns;
  if (split.tiles < executor.pool().thread_count() && unit > 0) {
    // Too few tiles for every thread: their inputs are shared out.
    run_shares(executor.pool(), ceil_divide(x.columns, unit), elements, [&](Share units) {
      const Share inputs{units.first * unit, std::min(units.last * unit, x.columns)};
      if (inputs.first >= inputs.last) return;
      for (std::int64_t tile = 0; tile < split.tiles; ++tile) pack(split.rows_of(tile), inputs);
    });
  } else {
    run_shares(executor.pool(), split.tiles, elements, [&](Share tiles) {
      for (std::int64_t tile = tiles.first; tile < tiles.last; ++tile)
        pack(split.rows_of(tile), {0, x.columns});
    });
  }
  return {data, row_bytes, x.rows, split};
}

// Every (panel, tile) of one thread's panels; `emit(panel, first_row, args)` completes args with where the
// sums go and runs it.
template <class Emit>
void for_each_tile(const PackedRows& packed, const PackedMatrix& weights, Share panels, Emit emit) {
  const std::int64_t bytes = panel_bytes(weights.format(), weights.inputs());
  const std::int64_t block_rows = std::max<std::int64_t>(1, kRowBlockBytes / packed.row_bytes);
  const std::int64_t block_tiles = std::max<std::int64_t>(1, block_rows * packed.split.tiles / packed.rows);
  for (std::int64_t block = 0; block < packed.split.tiles; block += block_tiles) {
    const std::int64_t block_end = std::min(block + block_tiles, packed.split.tiles);
    for (std::int64_t panel = panels.first; panel < panels.last; ++panel) {
      for (std::int64_t tile = block; tile < block_end; ++tile) {
        const Share rows = packed.split.rows_of(tile);
        emit(panel, rows.first,
             TileArgs{.panel = weights.data() + panel * bytes,
                      .rows = packed.data + rows.first * packed.row_bytes,
                      .inputs = weights.inputs(),
                      .row_count = static_cast<int>(rows.last - rows.first),
                      .columns = columns_of(panel, weights.outputs()),
                      .bias = nullptr,
                      .out = nullptr,
                      .out_stride = 0});
      }
    }
  }
}

// More tiles than this are bound by arithmetic, which threads do at the same pace; pieces would only read the
// packed rows again.
constexpr std::int64_t kBalancedTiles = 4;

// body(thread, panels) until all panels are done.
template <class Body>
void share_panels(Executor& executor, const PackedRows& packed, const PackedMatrix& weights, Body body) {
  ThreadPool& pool = executor.pool();
  const std::int64_t panels = panel_count(weights.outputs());
  if (pool.thread_count() == 1 || weights.outputs() * weights.inputs() <= kForkElements) {
    body(0, Share{0, panels});
  } else if (packed.split.tiles <= kBalancedTiles) {
    pool.run_balanced(panels, body);
  } else {
    pool.run([&](int thread) { body(thread, share_of(panels, thread, pool.thread_count())); });
  }
}

}  // namespace

void linear(Executor& executor, tensor::MatrixView<const float> x, const PackedMatrix& weights,
            std::span<const float> bias, tensor::MatrixView<float> y) {
  OUTRIDER_CHECK(x.columns == weights.inputs() && y.columns == weights.outputs() && x.rows == y.rows);
  OUTRIDER_CHECK(bias.empty() || static_cast<std::int64_t>(bias.size()) == weights.outputs());
  if (x.rows == 0) return;
  const ProductKernel& kernel = product_of(executor.table(), weights.format(), executor.arithmetic());
  const PackedRows packed = pack_rows(executor, kernel, x);
  share_panels(executor, packed, weights, [&](int, Share panels) {
    for_each_tile(packed, weights, panels, [&](std::int64_t panel, std::int64_t row, TileArgs args) {
      const std::int64_t column = panel * kPanelOutputs;
      args.bias = bias.empty() ? nullptr : bias.data() + column;
      args.out = y.row(row) + column;
      args.out_stride = y.stride;
      kernel.tile(args);
    });
  });
}

namespace {

struct Best {
  float value;
  std::int32_t index;  // -1: nothing but NaN so far

  // The lowest index of equals stays, in whatever order parts come.
  void take(const Best& other) {
    if (other.index < 0) return;
    const bool lower = other.value == value && other.index < index;
    if (index < 0 || other.value > value || lower) *this = other;
  }
};
constexpr Best kNoBest{std::numeric_limits<float>::quiet_NaN(), -1};

}  // namespace

void linear_argmax(Executor& executor, tensor::MatrixView<const float> x, const PackedMatrix& weights,
                   std::span<std::int32_t> index, std::span<float> value) {
  OUTRIDER_CHECK(x.columns == weights.inputs() && weights.outputs() > 0);
  OUTRIDER_CHECK(static_cast<std::int64_t>(index.size()) == x.rows && value.size() == index.size());
  if (x.rows == 0) return;
  const KernelTable& table = executor.table();
  const ProductKernel& kernel = product_of(table, weights.format(), executor.arithmetic());
  const PackedRows packed = pack_rows(executor, kernel, x);
  const int threads = executor.pool().thread_count();
  // [thread][row] of all, then of the panels at hand.
  Best* best = reinterpret_cast<Best*>(
      executor.scratch(kBestSlot, static_cast<std::size_t>(2 * x.rows * threads) * sizeof(Best)));
  std::fill_n(best, x.rows * threads, kNoBest);
  share_panels(executor, packed, weights, [&](int thread, Share panels) {
    Best* here = best + (threads + thread) * x.rows;
    std::fill_n(here, x.rows, kNoBest);
    for_each_tile(packed, weights, panels, [&](std::int64_t panel, std::int64_t row, TileArgs args) {
      alignas(64) float sums[kTileRowsMax * kPanelOutputs];
      args.out = sums;
      args.out_stride = kPanelOutputs;
      kernel.tile(args);
      for (int r = 0; r < args.row_count; ++r) {
        table.argmax(sums + r * kPanelOutputs, args.columns, static_cast<std::int32_t>(panel * kPanelOutputs),
                     &here[row + r].value, &here[row + r].index);
      }
    });
    for (std::int64_t r = 0; r < x.rows; ++r) best[thread * x.rows + r].take(here[r]);
  });
  for (std::int64_t r = 0; r < x.rows; ++r) {
    Best winner = best[r];
    for (int thread = 1; thread < threads; ++thread) winner.take(best[thread * x.rows + r]);
    index[static_cast<std::size_t>(r)] = std::max(winner.index, 0);
    value[static_cast<std::size_t>(r)] = winner.value;
  }
}

}  // namespace outrider::kernels
