// Scratch of the drafter's parts: a buffer that grows to what was ever asked, seen as a matrix, so that a
// steady round allocates nothing.
#pragma once

#include <cstdint>

#include "tensor/buffer.h"
#include "tensor/view.h"

namespace outrider::draft {

inline tensor::MatrixView<float> grow(tensor::Buffer& buffer, std::int64_t rows, std::int64_t columns) {
  const auto bytes = static_cast<std::size_t>(rows * columns) * sizeof(float);
  if (buffer.size() < bytes) buffer = tensor::Buffer(bytes);
  return {buffer.as<float>(), rows, columns};
}

}  // namespace outrider::draft
