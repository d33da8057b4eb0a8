// Products with a weight matrix: y = x W^T (+ bias). Weights are repacked once at load into tiles that one
// thread reads as one contiguous run; the same packed form serves one row (bound by memory) and a prefill
// (bound by arithmetic).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/check.h"
#include "kernels/executor.h"
#include "kernels/slabs.h"
#include "tensor/view.h"

namespace outrider::kernels {

// How a packed matrix holds its weights. F16 checkpoints are packed as F32 or, under Arithmetic::Bfloat16,
// rounded to Bf16 only if the caller asks for it. Int8 / Int4: symmetric, groups of 32 along the inputs, one
// bf16 scale a group.
enum class WeightFormat { F32, Bf16, Int8, Int4 };

class PackedMatrix {
 public:
  PackedMatrix() = default;
  PackedMatrix(PackedMatrix&&) = default;
  PackedMatrix& operator=(PackedMatrix&&) = default;
  PackedMatrix(const PackedMatrix&) = delete;
  PackedMatrix& operator=(const PackedMatrix&) = delete;
  PackedMatrix(WeightFormat format, std::int64_t outputs, std::int64_t inputs);  // zero weights
  // Packed bytes that live elsewhere, such as a mapped file: 64-byte aligned, packed_bytes() long, outliving
  // this. The layout does not depend on the target. They may be read only.
  static PackedMatrix view_of(WeightFormat format, std::int64_t outputs, std::int64_t inputs,
                              const std::byte* bytes);
  // In a slab, so that many small matrices share huge pages.
  static PackedMatrix in_slab(Slabs& slabs, WeightFormat format, std::int64_t outputs, std::int64_t inputs);
  static std::int64_t packed_bytes(WeightFormat format, std::int64_t outputs, std::int64_t inputs);

  WeightFormat format() const { return format_; }
  std::int64_t outputs() const { return outputs_; }  // N
  std::int64_t inputs() const { return inputs_; }    // K
  const std::byte* data() const { return data_.get(); }
  std::byte* data() {
    OUTRIDER_CHECK(writable_);
    return data_.get();
  }
  std::int64_t byte_count() const { return packed_bytes(format_, outputs_, inputs_); }

 private:
  WeightFormat format_ = WeightFormat::F32;
  std::int64_t outputs_ = 0, inputs_ = 0;
  std::shared_ptr<std::byte> data_;  // a buffer of its own, a piece of a slab, or bytes elsewhere
  bool writable_ = true;
};

// Stacks the sources, each [n_i, K] of F32, F16 or BF16, along the outputs (q, k, v or gate, up as one
// product) and packs them.
PackedMatrix pack_matrix(Executor& executor, std::span<const tensor::TensorView> sources,
                         WeightFormat format);
// One stored row, widened to float: an embedding lookup, or a test's view of what is held.
void unpack_row(const PackedMatrix& matrix, std::int64_t row, std::span<float> out);

// y[r, n] = sum_k x[r, k] W[n, k] + bias[n]; `bias` is empty or [N]. Rows of x and y may be strided; x and y
// must not overlap.
void linear(Executor& executor, tensor::MatrixView<const float> x, const PackedMatrix& weights,
            std::span<const float> bias, tensor::MatrixView<float> y);

// The index of the largest output of each row, lowest index on ties, without storing the outputs; also its
// value. Equal to an argmax over linear(); NaN never wins.
void linear_argmax(Executor& executor, tensor::MatrixView<const float> x, const PackedMatrix& weights,
                   std::span<std::int32_t> index, std::span<float> value);

}  // namespace outrider::kernels
