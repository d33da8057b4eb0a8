#include <gtest/gtest.h>

#include "kernels/layout.h"
#include "kernels/quantise.h"
#include "kernels/test_support.h"

namespace outrider::kernels::test {
namespace {

TEST(PackMatrix, HoldsFloatsExactlyAndStacksSourcesOfDifferentTypes) {
  Executor executor(Target::Reference, 3, Arithmetic::Float32);
  Values values(1);
  const std::int64_t inputs = 77;
  const std::vector<float> first = values.many(33 * inputs);
  std::vector<tensor::F16> second;
  for (const float value : values.many(5 * inputs)) second.push_back(tensor::to_f16(value));
  std::vector<tensor::Bf16> third;
  for (const float value : values.many(40 * inputs)) third.push_back(tensor::to_bf16(value));
  const tensor::TensorView sources[] = {
      tensor_of(first, inputs),
      {reinterpret_cast<const std::byte*>(second.data()), tensor::Dtype::F16, {5, inputs}},
      {reinterpret_cast<const std::byte*>(third.data()), tensor::Dtype::BF16, {40, inputs}}};
  for (const WeightFormat format : {WeightFormat::F32, WeightFormat::Bf16}) {
    const PackedMatrix matrix = pack_matrix(executor, sources, format);
    ASSERT_EQ(matrix.outputs(), 78);
    ASSERT_EQ(matrix.byte_count(), 3 * panel_bytes(format, inputs));
    std::vector<float> row(static_cast<std::size_t>(inputs));
    for (std::int64_t n = 0; n < 78; ++n) {
      unpack_row(matrix, n, row);
      for (std::int64_t k = 0; k < inputs; ++k) {
        float want = n < 33   ? first[static_cast<std::size_t>(n * inputs + k)]
                     : n < 38 ? tensor::to_float(second[static_cast<std::size_t>((n - 33) * inputs + k)])
                              : tensor::to_float(third[static_cast<std::size_t>((n - 38) * inputs + k)]);
        if (format == WeightFormat::Bf16) want = tensor::to_float(tensor::to_bf16(want));
        ASSERT_EQ(row[static_cast<std::size_t>(k)], want) << n << "," << k;
      }
    }
  }
}

TEST(PackMatrix, QuantisedWeightsAreWithinHalfAStepOfTheirGroup) {
  Executor executor(Target::Reference, 2, Arithmetic::Float32);
  Values values(2);
  const std::int64_t inputs = 100;  // the last group holds four
  const std::vector<float> weights = values.many(35 * inputs);
  for (const WeightFormat format : {WeightFormat::Int8, WeightFormat::Int4}) {
    const PackedMatrix matrix = packed(executor, weights, inputs, format);
    std::vector<float> row(static_cast<std::size_t>(inputs));
    for (std::int64_t n = 0; n < 35; ++n) {
      unpack_row(matrix, n, row);
      for (std::int64_t k = 0; k < inputs; ++k) {
        float largest = 0;
        for (std::int64_t i = k / 32 * 32; i < std::min(inputs, k / 32 * 32 + 32); ++i) {
          largest = std::max(largest, std::abs(weights[static_cast<std::size_t>(n * inputs + i)]));
        }
        // Int4 may choose a scale that cuts the largest value a little where that lowers the squared error.
        const float bound = format == WeightFormat::Int8 ? largest / 127 * 0.51F : largest * 0.24F;
        ASSERT_NEAR(row[static_cast<std::size_t>(k)], weights[static_cast<std::size_t>(n * inputs + k)],
                    bound);
      }
    }
  }
}

TEST(Slabs, PiecesAreAlignedZeroApartAndOutliveTheirMaker) {
  std::vector<std::shared_ptr<std::byte>> pieces;
  std::vector<std::size_t> sizes;
  {
    Slabs slabs;
    for (const std::size_t bytes : {1u, 64u, 65u, 1000000u, 1500000u, 3000000u, 20000000u, 7u}) {
      pieces.push_back(slabs.take(bytes));
      sizes.push_back(bytes);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pieces.back().get()) % 64, 0u);
      for (std::size_t i = 0; i < bytes; i += 97) ASSERT_EQ(pieces.back().get()[i], std::byte{0});
      std::memset(pieces.back().get(), static_cast<int>(pieces.size()), bytes);
    }
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_EQ(pieces[i].get()[0], static_cast<std::byte>(i + 1));
    EXPECT_EQ(pieces[i].get()[sizes[i] - 1], static_cast<std::byte>(i + 1));
  }
}

TEST(PackedMatrix, AViewOfPackedBytesIsTheSameMatrix) {
  Executor executor(best_target(), 1, Arithmetic::Float32);
  const std::vector<float> x = Values(3).many(50);
  for (const WeightFormat format : all_formats()) {
    const PackedMatrix matrix = packed(executor, Values(4).many(70 * 50), 50, format);
    const PackedMatrix same = PackedMatrix::view_of(format, 70, 50, matrix.data());
    EXPECT_EQ(same.byte_count(), matrix.byte_count());
    std::vector<float> want(70), y(70);
    linear(executor, view(x, 50), matrix, {}, view(want, 70));
    linear(executor, view(x, 50), same, {}, view(y, 70));
    EXPECT_TRUE(same_bytes(y.data(), want.data(), 70));
  }
}

TEST(Quantise, KeepsGroupsThatAreExactlyRepresentable) {
  float weights[32];
  std::int8_t codes[32];
  for (int i = 0; i < 32; ++i) weights[i] = static_cast<float>(i % 16 - 8) * 0.5F;
  const float int4_scale = tensor::to_float(quantise_int4(weights, codes));
  for (int i = 0; i < 32; ++i) EXPECT_EQ(static_cast<float>(codes[i]) * int4_scale, weights[i]);
  for (int i = 0; i < 32; ++i) weights[i] = static_cast<float>(i * 8 - 127) * 0.25F;
  const float int8_scale = tensor::to_float(quantise_int8(weights, codes));
  for (int i = 0; i < 32; ++i) EXPECT_EQ(static_cast<float>(codes[i]) * int8_scale, weights[i]);
}

TEST(PackMatrix, EveryTargetPacksTheSameBytes) {
  Executor reference(Target::Reference, 1, Arithmetic::Float32);
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  std::vector<float> weights = Values(17).many(70 * 96);
  for (std::size_t k = 0; k < 96; ++k) {
    weights[k] = 0;
    weights[96 + k] = k == 40 ? nan : 1.0F;
    weights[2 * 96 + k] = k == 70 ? -infinity : 0.5F;
    weights[3 * 96 + k] = k % 2 == 0 ? 3.4e38F : -3.4e38F;
    weights[4 * 96 + k] = 1e-44F;
    weights[5 * 96 + k] = k % 32 == 3 ? -9.0F : 0.01F;
    weights[6 * 96 + k] = static_cast<float>(k % 32) - 15.5F;
    weights[7 * 96 + k] = k % 2 == 0 ? -1.0F : 1.0F;
  }
  for (const WeightFormat format : all_formats()) {
    const PackedMatrix want = packed(reference, weights, 96, format);
    for (const Target target : available_targets()) {
      Executor executor(target, 2, Arithmetic::Float32);
      const PackedMatrix matrix = packed(executor, weights, 96, format);
      EXPECT_EQ(std::memcmp(matrix.data(), want.data(), static_cast<std::size_t>(want.byte_count())), 0)
          << describe(target, format, Arithmetic::Float32);
    }
  }
}

TEST(Quantise, ZeroGroupsStayZeroAndNotFiniteOnesShow) {
  float weights[32] = {};
  std::int8_t codes[kSpanInputs];
  EXPECT_EQ(tensor::to_float(quantise_int8(weights, codes)), 0);
  EXPECT_EQ(tensor::to_float(quantise_int4(weights, codes)), 0);
  EXPECT_EQ(quantise_activations(weights, 32, codes), 0);
  for (const std::int8_t code : codes) EXPECT_EQ(code, 0);
  weights[31] = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isnan(tensor::to_float(quantise_int8(weights, codes))));
  EXPECT_TRUE(std::isnan(tensor::to_float(quantise_int4(weights, codes))));
  EXPECT_TRUE(std::isnan(quantise_activations(weights, 32, codes)));
}

TEST(Quantise, ASpanOfActivationsHasTheScaleOfItsLargestAndRoundsToTheNearestCode) {
  Values values(8);
  for (const std::int64_t count : {1, 31, 32, 100, 128}) {
    std::vector<float> x = values.many(count);
    x[static_cast<std::size_t>(count / 2)] = -3;
    std::int8_t codes[kSpanInputs];
    std::fill_n(codes, kSpanInputs, std::int8_t{99});
    const float scale = quantise_activations(x.data(), count, codes);
    EXPECT_EQ(scale, 3.0F / 127.0F);
    EXPECT_EQ(codes[count / 2], -127);
    for (std::int64_t i = 0; i < kSpanInputs; ++i) {
      const float want = i < count ? x[static_cast<std::size_t>(i)] : 0.0F;
      EXPECT_NEAR(static_cast<float>(codes[i]) * scale, want, scale * 0.501F) << i;
    }
  }
}

}  // namespace
}  // namespace outrider::kernels::test
