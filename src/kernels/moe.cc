#include "kernels/moe.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/kernel_table.h"
#include "kernels/product.h"

namespace outrider::kernels {
namespace {

enum Slot { kPackedSlot = 0, kIndexSlot = 2, kGateUpSlot = 3, kDownSlot = 4 };

constexpr std::int64_t kCombineColumns = 512;

// A panel costs its bytes plus its products; at about this many rows the two are equal.
constexpr std::int64_t kBytesInRows = 8;

struct Tile {
  std::int32_t expert;
  std::int32_t first, count;  // places in the order of experts
  const std::byte* packed;    // its rows, as the product at hand takes them
};

// (row, slot) pairs ordered by expert, then row. `place_of[pair]` is where a pair stands in that order, pairs
// being row * k + slot.
struct Grouping {
  std::int32_t* starts;  // [experts + 1] first place of each expert
  std::int32_t* pair_at;
  std::int32_t* place_of;
  Tile* tiles;
  std::int64_t tile_count;
  std::int64_t pair_count;
  std::int64_t expert_count;
};

Grouping group_pairs(Executor& executor, tensor::MatrixView<const std::int32_t> ids,
                     std::int64_t expert_count, int tile_rows) {
  const std::int64_t pairs = ids.rows * ids.columns;
  const std::int64_t integers = expert_count + 1 + 2 * pairs;
  std::byte* memory = executor.scratch(kIndexSlot, static_cast<std::size_t>(integers) * sizeof(std::int32_t) +
                                                       static_cast<std::size_t>(pairs) * sizeof(Tile));
  Grouping g{};
  g.tiles = reinterpret_cast<Tile*>(memory);  // first, as they need the most alignment
  g.starts = reinterpret_cast<std::int32_t*>(g.tiles + pairs);
  g.pair_at = g.starts + expert_count + 1;
  g.place_of = g.pair_at + pairs;
  g.pair_count = pairs;
  g.expert_count = expert_count;
  std::fill_n(g.starts, expert_count + 1, 0);
  for (std::int64_t row = 0; row < ids.rows; ++row) {
    for (const std::int32_t expert : ids.row_span(row)) {
      OUTRIDER_CHECK(expert >= 0 && expert < expert_count);
      ++g.starts[expert + 1];
    }
  }
  for (std::int64_t e = 0; e < expert_count; ++e) g.starts[e + 1] += g.starts[e];
  // starts[e] runs through e's places while they are filled, and is then moved back by one expert.
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    const std::int32_t place = g.starts[ids.row(pair / ids.columns)[pair % ids.columns]]++;
    g.pair_at[place] = static_cast<std::int32_t>(pair);
    g.place_of[pair] = place;
  }
  for (std::int64_t e = expert_count; e > 0; --e) g.starts[e] = g.starts[e - 1];
  g.starts[0] = 0;
  for (std::int64_t e = 0; e < expert_count; ++e) {
    const std::int32_t count = g.starts[e + 1] - g.starts[e];
    if (count == 0) continue;
    const TileSplit split = split_tiles(count, tile_rows);
    for (std::int64_t tile = 0; tile < split.tiles; ++tile) {
      const Share rows = split.rows_of(tile);
      g.tiles[g.tile_count++] = {static_cast<std::int32_t>(e),
                                 g.starts[e] + static_cast<std::int32_t>(rows.first),
                                 static_cast<std::int32_t>(rows.last - rows.first), nullptr};
    }
  }
  return g;
}

std::int64_t panel_cost(std::int64_t rows) { return rows == 0 ? 0 : kBytesInRows + rows; }

// One product of every expert that has rows. All threads finish together: each takes an equal part of the
// summed cost, a run of panels that may begin and end inside an expert.
struct ExpertProduct {
  const ProductKernel* kernel;
  const Grouping* grouping;
  std::span<const ExpertWeights> experts;
  PackedMatrix ExpertWeights::*matrix;
  float* out;  // [pairs][outputs]
  std::int64_t inputs, outputs;

  void run_panels(std::int64_t first_tile, std::int64_t last_tile, Share panels) const {
    const PackedMatrix& weights =
        experts[static_cast<std::size_t>(grouping->tiles[first_tile].expert)].*matrix;
    const std::int64_t bytes = panel_bytes(weights.format(), inputs);
    for (std::int64_t panel = panels.first; panel < panels.last; ++panel) {
      for (std::int64_t t = first_tile; t < last_tile; ++t) {
        const Tile& tile = grouping->tiles[t];
        kernel->tile({.panel = weights.data() + panel * bytes,
                      .rows = tile.packed,
                      .inputs = inputs,
                      .row_count = tile.count,
                      .columns = columns_of(panel, outputs),
                      .bias = nullptr,
                      .out = out + tile.first * outputs + panel * kPanelOutputs,
                      .out_stride = outputs});
      }
    }
  }

  void run(int thread, int thread_count) const {
    const std::int64_t panels = panel_count(outputs);
    std::int64_t total = 0;
    for (std::int64_t e = 0; e < grouping->expert_count; ++e) {
      total += panels * panel_cost(grouping->starts[e + 1] - grouping->starts[e]);
    }
    const std::int64_t from = total * thread / thread_count, to = total * (thread + 1) / thread_count;
    std::int64_t before = 0;
    for (std::int64_t t = 0; t < grouping->tile_count;) {
      std::int64_t end = t, rows = 0;
      while (end < grouping->tile_count && grouping->tiles[end].expert == grouping->tiles[t].expert) {
        rows += grouping->tiles[end++].count;
      }
      const std::int64_t cost = panel_cost(rows);
      // A panel belongs to the thread in whose part it begins.
      const auto first_from = [&](std::int64_t mark) {
        return std::clamp<std::int64_t>(ceil_divide(std::max<std::int64_t>(mark - before, 0), cost), 0,
                                        panels);
      };
      run_panels(t, end, {first_from(from), first_from(to)});
      before += panels * cost;
      t = end;
    }
  }
};

// y[row] = sum of weight * down output over the row's experts in ascending id, which is the order of places.
void combine(const KernelTable& table, const Grouping& g, tensor::MatrixView<const float> weights,
             const float* down, std::int64_t hidden, std::int64_t row, std::int64_t column,
             tensor::MatrixView<float> y) {
  const std::int64_t k = weights.columns, width = std::min(kCombineColumns, hidden - column);
  float* to = y.row(row) + column;
  std::fill_n(to, width, 0.0F);
  const std::int32_t* places = g.place_of + row * k;
  std::int32_t done = -1;
  for (std::int64_t i = 0; i < k; ++i) {
    std::int64_t next = -1;
    for (std::int64_t slot = 0; slot < k; ++slot) {
      if (places[slot] > done && (next < 0 || places[slot] < places[next])) next = slot;
    }
    done = places[next];
    table.scale_add(weights.row(row)[next], down + done * hidden + column, width, to);
  }
}

}  // namespace

void route_softmax_topk(Executor& executor, tensor::MatrixView<const float> logits, int k, bool normalise,
                        tensor::MatrixView<std::int32_t> ids, tensor::MatrixView<float> weights) {
  OUTRIDER_CHECK(k >= 1 && k <= logits.columns && ids.columns == k && weights.columns == k);
  OUTRIDER_CHECK(ids.rows == logits.rows && weights.rows == logits.rows);
  const std::int64_t experts = logits.columns;
  float* memory = reinterpret_cast<float*>(
      executor.scratch(kGateUpSlot, static_cast<std::size_t>(experts * logits.rows) * sizeof(float)));
  // Every choice looks at every expert.
  run_shares(executor.pool(), logits.rows, logits.rows * experts * k, [&](Share share) {
    for (std::int64_t row = share.first; row < share.last; ++row) {
      float* probability = memory + row * experts;
      executor.table().softmax(logits.row(row), experts, probability);
      float sum = 0;
      for (int i = 0; i < k; ++i) {
        std::int64_t best = -1;
        float best_value = -0.5F;  // a chosen one is marked by -1
        for (std::int64_t e = 0; e < experts; ++e) {
          const float value = probability[e] != probability[e] ? 0.0F : probability[e];  // NaN ranks last
          if (value > best_value) {
            best = e;
            best_value = value;
          }
        }
        ids.row(row)[i] = static_cast<std::int32_t>(best);
        weights.row(row)[i] = probability[best];
        sum += probability[best];
        probability[best] = -1;
      }
      for (int i = 0; normalise && i < k; ++i) weights.row(row)[i] /= sum;
    }
  });
}

void moe_mlp(Executor& executor, tensor::MatrixView<const float> x, std::span<const ExpertWeights> experts,
             tensor::MatrixView<const std::int32_t> ids, tensor::MatrixView<const float> weights,
             tensor::MatrixView<float> y) {
  OUTRIDER_CHECK(ids.rows == x.rows && weights.rows == x.rows && y.rows == x.rows && y.columns == x.columns);
  OUTRIDER_CHECK(ids.columns == weights.columns && ids.columns >= 1);
  if (x.rows == 0) return;
  const KernelTable& table = executor.table();
  const ExpertWeights& any = experts[static_cast<std::size_t>(ids.row(0)[0])];
  const ProductKernel& first = product_of(table, any.gate_up.format(), executor.arithmetic());
  const ProductKernel& second = product_of(table, any.down.format(), executor.arithmetic());
  const std::int64_t hidden = x.columns, width = any.down.inputs();
  const Grouping grouping = group_pairs(executor, ids, static_cast<std::int64_t>(experts.size()),
                                        std::min(first.tile_rows, second.tile_rows));
  for (std::int64_t t = 0; t < grouping.tile_count; ++t) {
    const ExpertWeights& e = experts[static_cast<std::size_t>(grouping.tiles[t].expert)];
    OUTRIDER_CHECK(e.gate_up.inputs() == hidden && e.gate_up.outputs() == 2 * width &&
                   e.down.inputs() == width && e.down.outputs() == hidden &&
                   e.gate_up.format() == any.gate_up.format() && e.down.format() == any.down.format());
  }
  const std::int64_t pairs = grouping.pair_count, k = ids.columns;
  const std::int64_t first_bytes = first.row_bytes(hidden), second_bytes = second.row_bytes(width);
  // Rows of x one by one, then pairs.
  std::byte* row_memory = executor.scratch(
      kPackedSlot,
      static_cast<std::size_t>(x.rows * first_bytes + pairs * std::max(first_bytes, second_bytes)));
  std::byte* packed = row_memory + x.rows * first_bytes;
  float* gate_up = reinterpret_cast<float*>(
      executor.scratch(kGateUpSlot, static_cast<std::size_t>(pairs * 2 * width) * sizeof(float)));
  float* down = reinterpret_cast<float*>(
      executor.scratch(kDownSlot, static_cast<std::size_t>(pairs * hidden) * sizeof(float)));
  ThreadPool& pool = executor.pool();
  const int threads = pool.thread_count();

  // Most tiles of a few rows hold one row, which is the same for all its experts: it is packed once.
  run_shares(pool, x.rows + grouping.tile_count, (x.rows + pairs) * hidden, [&](Share share) {
    for (std::int64_t i = share.first; i < share.last; ++i) {
      const float* rows[kTileRowsMax];
      if (i < x.rows) {
        rows[0] = x.row(i);
        first.pack(rows, 1, hidden, row_memory + i * first_bytes);
        continue;
      }
      Tile& tile = grouping.tiles[i - x.rows];
      if (tile.count == 1) {
        tile.packed = row_memory + grouping.pair_at[tile.first] / k * first_bytes;
        continue;
      }
      tile.packed = packed + tile.first * first_bytes;
      for (std::int32_t j = 0; j < tile.count; ++j) rows[j] = x.row(grouping.pair_at[tile.first + j] / k);
      first.pack(rows, tile.count, hidden, packed + tile.first * first_bytes);
    }
  });
  const ExpertProduct gate_up_product{&first,  &grouping, experts,  &ExpertWeights::gate_up,
                                      gate_up, hidden,    2 * width};
  pool.run([&](int thread) { gate_up_product.run(thread, threads); });
  run_shares(pool, grouping.tile_count, pairs * width, [&](Share share) {
    for (std::int64_t t = share.first; t < share.last; ++t) {
      Tile& tile = grouping.tiles[t];
      tile.packed = packed + tile.first * second_bytes;
      const float* rows[kTileRowsMax];
      for (std::int32_t i = 0; i < tile.count; ++i) {
        float* gate = gate_up + (tile.first + i) * 2 * width;
        table.silu_multiply(gate, gate + width, width, gate);
        rows[i] = gate;
      }
      second.pack(rows, tile.count, width, packed + tile.first * second_bytes);
    }
  });
  const ExpertProduct down_product{&second, &grouping, experts, &ExpertWeights::down, down, width, hidden};
  pool.run([&](int thread) { down_product.run(thread, threads); });
  const std::int64_t blocks = ceil_divide(hidden, kCombineColumns);
  run_shares(pool, x.rows * blocks, pairs * hidden, [&](Share share) {
    for (std::int64_t i = share.first; i < share.last; ++i) {
      combine(table, grouping, weights, down, hidden, i / blocks, i % blocks * kCombineColumns, y);
    }
  });
}

}  // namespace outrider::kernels
