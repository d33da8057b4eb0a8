#include "kernels/elementwise.h"

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
  for_each_row(executor, x.rows, x.columns, [&](std::int64_t row) {
    const std::int64_t position = positions[static_cast<std::size_t>(row)];
    const float* cosine = rope.cos.row(position);
    const float* sine = rope.sin.row(position);
    for (int head = 0; head < heads; ++head) {
      float* channels = x.row(row) + head * width;
      if (!weight.empty()) table.rms_norm(channels, weight.data(), epsilon, width, channels);
      table.rotate(channels, cosine, sine, half);
    }
  });
}

void silu_multiply(Executor& executor, tensor::MatrixView<const float> gate_up, tensor::MatrixView<float> y) {
  OUTRIDER_CHECK(gate_up.rows == y.rows && gate_up.columns == 2 * y.columns);
  const KernelTable& table = executor.table();
  for_each_row(executor, y.rows, y.columns, [&](std::int64_t row) {
    table.silu_multiply(gate_up.row(row), gate_up.row(row) + y.columns, y.columns, y.row(row));
  });
}

void add_rows(Executor& executor, tensor::MatrixView<const float> delta, tensor::MatrixView<float> x) {
  OUTRIDER_CHECK(delta.rows == x.rows && delta.columns == x.columns);
  const KernelTable& table = executor.table();
  for_each_row(executor, x.rows, x.columns,
               [&](std::int64_t row) { table.scale_add(1.0F, delta.row(row), x.columns, x.row(row)); });
}

}  // namespace outrider::kernels
