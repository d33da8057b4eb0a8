#include "kernels/attention.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "kernels/kernel_table.h"

namespace outrider::kernels {
namespace {

enum Slot { kAttendSlot = 5 };

// A key's channels go to as many lines: about this many times what storing them in a row would take.
constexpr std::int64_t kScatter = 3;

// Consecutive rows of one sequence, at most kAttendRows.
struct RowRun {
  std::int64_t first, count;
  std::int64_t cost;  // of one kv head: positions read, and products
};

RowRun next_run(std::span<const AttentionRow> rows, std::int64_t first) {
  RowRun run{first, 0, 0};
  std::int64_t low = rows[static_cast<std::size_t>(first)].first, high = 0;
  const std::int64_t row_count = static_cast<std::int64_t>(rows.size());
  while (run.count < kAttendRows && first + run.count < row_count) {
    const AttentionRow& row = rows[static_cast<std::size_t>(first + run.count)];
    if (row.blocks != rows[static_cast<std::size_t>(first)].blocks) break;
    low = std::min(low, row.first);
    high = std::max(high, row.last);
    ++run.count;
  }
  run.cost = (high - low) * (3 + run.count) + 16;
  return run;
}

void store_value(const KernelTable& table, const float* from, const KvLayer& layer, std::int64_t element) {
  const std::int64_t width = layer.head_width;
  if (layer.dtype == KvDtype::F32) {
    std::memcpy(static_cast<float*>(layer.values) + element, from,
                static_cast<std::size_t>(width) * sizeof(float));
  } else {
    table.round_bf16(from, width, static_cast<std::uint16_t*>(layer.values) + element);
  }
}

constexpr std::int64_t kKeyPiece = 256;

// `element`: the head's first.
void store_key(const KernelTable& table, const float* from, const KvLayer& layer, std::int64_t element,
               std::int64_t slot) {
  const std::int64_t width = layer.head_width;
  if (layer.dtype == KvDtype::F32) {
    float* to = static_cast<float*>(layer.keys) + element + slot;
    for (std::int64_t d = 0; d < width; ++d) to[d * layer.block_tokens] = from[d];
    return;
  }
  std::uint16_t* to = static_cast<std::uint16_t*>(layer.keys) + element;
  for (std::int64_t first = 0; first < width; first += kKeyPiece) {
    std::uint16_t bits[kKeyPiece];
    const std::int64_t count = std::min(kKeyPiece, width - first);
    table.round_bf16(from + first, count, bits);
    for (std::int64_t d = 0; d + 1 < count; d += 2) {
      std::memcpy(to + key_element(layer, slot, first + d), bits + d, 4);
    }
    if (count % 2 != 0) to[key_element(layer, slot, first + count - 1)] = bits[count - 1];
  }
}

}  // namespace

void store_kv(Executor& executor, std::span<const KvRow> rows, tensor::MatrixView<const float> keys,
              tensor::MatrixView<const float> values, const KvLayer& layer) {
  const std::int64_t row_count = static_cast<std::int64_t>(rows.size());
  OUTRIDER_CHECK(keys.rows == row_count && values.rows == row_count);
  OUTRIDER_CHECK(keys.columns == static_cast<std::int64_t>(layer.kv_heads) * layer.head_width &&
                 values.columns == keys.columns);
  // A head belongs to one thread, so that writes to one position stay in the order of rows.
  run_shares(executor.pool(), layer.kv_heads, row_count * keys.columns * kScatter, [&](Share heads) {
    for (std::int64_t r = 0; r < row_count; ++r) {
      const KvRow& row = rows[static_cast<std::size_t>(r)];
      const std::int64_t block = base::index_of(row.blocks[row.position / layer.block_tokens]);
      const std::int64_t slot = row.position % layer.block_tokens;
      for (std::int64_t head = heads.first; head < heads.last; ++head) {
        const std::int64_t element = (block * layer.kv_heads + head) * layer.block_tokens * layer.head_width;
        const std::int64_t channel = head * layer.head_width;
        store_key(executor.table(), keys.row(r) + channel, layer, element, slot);
        store_value(executor.table(), values.row(r) + channel, layer, element + slot * layer.head_width);
      }
    }
  });
}

void attend(Executor& executor, tensor::MatrixView<const float> q, int heads,
            std::span<const AttentionRow> rows, const KvLayer& layer, float scale,
            tensor::MatrixView<float> out) {
  const std::int64_t row_count = static_cast<std::int64_t>(rows.size());
  const std::int64_t width = layer.head_width;
  OUTRIDER_CHECK(heads > 0 && layer.kv_heads > 0 && heads % layer.kv_heads == 0);
  OUTRIDER_CHECK(q.rows == row_count && out.rows == row_count && q.columns == heads * width &&
                 out.columns == heads * width);
  for (const AttentionRow& row : rows) OUTRIDER_CHECK(row.first >= 0 && row.first < row.last);
  const KernelTable& table = executor.table();
  const int group_size = heads / layer.kv_heads, threads = executor.pool().thread_count();
  const std::int64_t scratch_floats = table.attend_scratch_floats(kAttendRows, group_size, layer.head_width);
  float* scratch = reinterpret_cast<float*>(
      executor.scratch(kAttendSlot, static_cast<std::size_t>(scratch_floats * threads) * sizeof(float)));
  std::int64_t total = 0;
  for (std::int64_t row = 0; row < row_count;) {
    const RowRun run = next_run(rows, row);
    total += run.cost * layer.kv_heads;
    row += run.count;
  }
  executor.pool().run([&](int thread) {
    // One unit is held back until the next is known, so that its end can ask for the next one's cache.
    AttendArgs units[2] = {};
    int held = 0;
    bool any = false;
    std::int64_t before = 0;
    for (std::int64_t row = 0; row < row_count;) {
      const RowRun run = next_run(rows, row);
      row += run.count;
      for (int kv_head = 0; kv_head < layer.kv_heads; ++kv_head, before += run.cost) {
        // A unit belongs to the thread in whose equal part of the cost its middle lies.
        if ((before + run.cost / 2) * threads / total != thread) continue;
        const std::int64_t channel = kv_head * group_size * width;
        units[1 - held] = {.q = q.row(run.first) + channel,
                           .q_stride = q.stride,
                           .out = out.row(run.first) + channel,
                           .out_stride = out.stride,
                           .rows = rows.data() + run.first,
                           .row_count = static_cast<int>(run.count),
                           .group_size = group_size,
                           .kv_head = kv_head,
                           .layer = &layer,
                           .scale = scale,
                           .scratch = scratch + thread * scratch_floats};
        if (any) {
          units[held].next = &units[1 - held];
          table.attend(units[held]);
        }
        any = true;
        held = 1 - held;
      }
    }
    if (any) table.attend(units[held]);
  });
}

}  // namespace outrider::kernels
