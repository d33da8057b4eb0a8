// Views: a pointer with a shape. They never own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "tensor/dtype.h"

namespace outrider::tensor {

// Rows of equal width; `stride` elements from row to row.
template <class T>
struct MatrixView {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stride = 0;

  MatrixView() = default;
  MatrixView(T* first, std::int64_t row_count, std::int64_t column_count)
      : MatrixView(first, row_count, column_count, column_count) {}
  MatrixView(T* first, std::int64_t row_count, std::int64_t column_count, std::int64_t row_stride)
      : data(first), rows(row_count), columns(column_count), stride(row_stride) {}
  // A view of T is also one of const T.
  operator MatrixView<const T>() const {
    return {data, rows, columns, stride};
  }  // NOLINT: implicit on purpose

  T* row(std::int64_t index) const {
    OUTRIDER_DCHECK(index >= 0 && index < rows);
    return data + index * stride;
  }
  std::span<T> row_span(std::int64_t index) const { return {row(index), static_cast<std::size_t>(columns)}; }
  MatrixView row_range(std::int64_t first, std::int64_t count) const {
    OUTRIDER_DCHECK(first >= 0 && count >= 0 && first + count <= rows);
    return {data + first * stride, count, columns, stride};
  }
  MatrixView column_range(std::int64_t first, std::int64_t count) const {
    OUTRIDER_DCHECK(first >= 0 && count >= 0 && first + count <= columns);
    return {data + first, rows, count, stride};
  }
};

// A tensor of a checkpoint: raw little-endian bytes, dense, row-major.
struct TensorView {
  const std::byte* data = nullptr;
  Dtype dtype = Dtype::F32;
  std::vector<std::int64_t> shape;

  std::int64_t element_count() const {
    std::int64_t count = 1;
    for (const std::int64_t dimension : shape) count *= dimension;
    return count;
  }
  std::int64_t byte_count() const { return element_count() * bits_of(dtype) / 8; }
};

}  // namespace outrider::tensor
