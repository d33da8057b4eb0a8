#include "kernels/elementwise.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/kernel_table.h"

namespace outrider::kernels {
namespace {

template <class Body>
void for_each_row(Executor& executor, std::int64_t rows, std::int64_t width, Body body) {
  run_shares(executor.pool(), rows, rows * width, [&](Share share) {
    for (std::int64_t row = share.first; row < share.last; ++row) body(row);
  });
}

constexpr std::int64_t kPieceColumns = 512;

// Norms of heads and exponentials take several times as long an element as what forks are measured by.
constexpr std::int64_t kSlow = 2;

}  // namespace

void rms_norm(Executor& executor, tensor::MatrixView<const float> x, std::span<const float> weight,
              float epsilon, tensor::MatrixView<float> y) {
  OUTRIDER_CHECK(x.rows == y.rows && x.columns == y.columns);
  OUTRIDER_CHECK(static_cast<std::int64_t>(weight.size()) == x.columns);
  const KernelTable& table = executor.table();
  for_each_row(executor, x.rows, x.columns, [&](std::int64_t row) {
    table.rms_norm(x.row(row), weight.data(), epsilon, x.columns, y.row(row));
  });
}

void norm_and_rotate(Executor& executor, tensor::MatrixView<float> x, int heads,
                     std::span<const float> weight, float epsilon, std::span<const std::int64_t> positions,
                     const RopeTable& rope) {
  OUTRIDER_CHECK(heads > 0 && x.columns % heads == 0 &&
                 static_cast<std::int64_t>(positions.size()) == x.rows);
  const std::int64_t width = x.columns / heads, half = width / 2;
  OUTRIDER_CHECK(rope.cos.columns == half && rope.sin.columns == half && width % 2 == 0);
  OUTRIDER_CHECK(weight.empty() || static_cast<std::int64_t>(weight.size()) == width);
  const KernelTable& table = executor.table();
  run_shares(executor.pool(), x.rows * heads, x.rows * x.columns * kSlow, [&](Share share) {
    for (std::int64_t i = share.first; i < share.last; ++i) {
      const std::int64_t row = i / heads, position = positions[static_cast<std::size_t>(row)];
      float* channels = x.row(row) + i % heads * width;
      if (!weight.empty()) table.rms_norm(channels, weight.data(), epsilon, width, channels);
      table.rotate(channels, rope.cos.row(position), rope.sin.row(position), half);
    }
  });
}

void silu_multiply(Executor& executor, tensor::MatrixView<const float> gate_up, tensor::MatrixView<float> y) {
  OUTRIDER_CHECK(gate_up.rows == y.rows && gate_up.columns == 2 * y.columns);
  const KernelTable& table = executor.table();
  const std::int64_t pieces = (y.columns + kPieceColumns - 1) / kPieceColumns;
  run_shares(executor.pool(), y.rows * pieces, y.rows * y.columns * kSlow, [&](Share share) {
    for (std::int64_t i = share.first; i < share.last; ++i) {
      const std::int64_t row = i / pieces, column = i % pieces * kPieceColumns;
      const float* gate = gate_up.row(row) + column;
      table.silu_multiply(gate, gate + y.columns, std::min(kPieceColumns, y.columns - column),
                          y.row(row) + column);
    }
  });
}

void add_rows(Executor& executor, tensor::MatrixView<const float> delta, tensor::MatrixView<float> x) {
  OUTRIDER_CHECK(delta.rows == x.rows && delta.columns == x.columns);
  const KernelTable& table = executor.table();
  for_each_row(executor, x.rows, x.columns,
               [&](std::int64_t row) { table.scale_add(1.0F, delta.row(row), x.columns, x.row(row)); });
}

}  // namespace outrider::kernels
