// For the tests of this folder only: repeatable values, plain double-precision sums, and executors of every
// kind.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/executor.h"
#include "kernels/linear.h"
#include "tensor/buffer.h"
#include "tensor/float16.h"

namespace outrider::kernels::test {

// A small generator of its own: values in [-1, 1), never constant.
class Values {
 public:
  explicit Values(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  std::uint32_t bits() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 33);
  }
  float next() { return static_cast<float>(bits() % 20001) / 10000.0F - 1.0F; }
  std::vector<float> many(std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = next();
    return values;
  }

 private:
  std::uint64_t state_;
};

inline tensor::MatrixView<float> view(std::vector<float>& values, std::int64_t columns) {
  return {values.data(), static_cast<std::int64_t>(values.size()) / columns, columns};
}
inline tensor::MatrixView<const float> view(const std::vector<float>& values, std::int64_t columns) {
  return {values.data(), static_cast<std::int64_t>(values.size()) / columns, columns};
}

inline tensor::TensorView tensor_of(const std::vector<float>& values, std::int64_t columns) {
  return {reinterpret_cast<const std::byte*>(values.data()),
          tensor::Dtype::F32,
          {static_cast<std::int64_t>(values.size()) / columns, columns}};
}

inline PackedMatrix packed(Executor& executor, const std::vector<float>& weights, std::int64_t inputs,
                           WeightFormat format) {
  const tensor::TensorView source = tensor_of(weights, inputs);
  return pack_matrix(executor, {&source, 1}, format);
}

inline const std::vector<WeightFormat>& all_formats() {
  static const std::vector<WeightFormat> formats = {WeightFormat::F32, WeightFormat::Bf16, WeightFormat::Int8,
                                                    WeightFormat::Int4};
  return formats;
}
inline const std::vector<Arithmetic>& all_arithmetics() {
  static const std::vector<Arithmetic> arithmetics = {Arithmetic::Float32, Arithmetic::Bfloat16};
  return arithmetics;
}

inline std::string describe(Target target, WeightFormat format, Arithmetic arithmetic) {
  static const char* const kFormats[] = {"f32", "bf16", "int8", "int4"};
  return std::string(name_of(target)) + " " + kFormats[static_cast<int>(format)] +
         (arithmetic == Arithmetic::Float32 ? " float32" : " bfloat16");
}

inline bool same_bytes(const float* a, const float* b, std::int64_t count) {
  return std::memcmp(a, b, static_cast<std::size_t>(count) * sizeof(float)) == 0;
}

}  // namespace outrider::kernels::test
