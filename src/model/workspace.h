// Float matrices that grow to what was ever asked and are then reused, so that a steady step allocates
// nothing. A slot's contents last until it is asked for again.
#pragma once

#include <array>
#include <cstddef>

#include "base/check.h"
#include "tensor/buffer.h"

namespace outrider::model {

enum class Slot {
  Normed,
  Query,
  KeyValue,
  Attended,
  Delta,
  GateUp,
  Gated,
  RouterLogits,
  RouterWeights,
  Stream,
  Rows,
  Count
};

class Workspace {
 public:
  tensor::MatrixView<float> matrix(Slot slot, std::int64_t rows, std::int64_t columns) {
    return {reinterpret_cast<float*>(bytes(slot, static_cast<std::size_t>(rows * columns) * sizeof(float))),
            rows, columns};
  }
  std::byte* bytes(Slot slot, std::size_t count) {
    tensor::Buffer& buffer = slots_[static_cast<std::size_t>(slot)];
    if (buffer.size() < count) buffer = tensor::Buffer(count + count / 4);
    return buffer.data();
  }

 private:
  std::array<tensor::Buffer, static_cast<std::size_t>(Slot::Count)> slots_;
};

}  // namespace outrider::model
