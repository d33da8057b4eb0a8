#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <new>

#include "tensor/buffer.h"
#include "tensor/dtype.h"
#include "tensor/float16.h"

namespace outrider::tensor {
namespace {

TEST(Dtype, NamesReadBack) {
  for (const auto dtype : {Dtype::Bool, Dtype::BF16, Dtype::F8E8M0, Dtype::C64})
    EXPECT_EQ(parse_dtype(name_of(dtype)), dtype);
  EXPECT_FALSE(parse_dtype("bf16").has_value());
}

TEST(Float16, EveryHalfSurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<F16>(bits);
    const float wide = to_float(half);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(to_float(to_f16(wide))));
    } else {
      EXPECT_EQ(to_f16(wide), half) << bits;
    }
    const auto brain = static_cast<Bf16>(bits);
    if (!std::isnan(to_float(brain))) {
      EXPECT_EQ(to_bf16(to_float(brain)), brain);
    }
  }
}

TEST(Float16, RoundsToTheNearestWithTiesToEven) {
  EXPECT_EQ(to_float(to_bf16(1.0f + 0x1p-8f)), 1.0f);
  EXPECT_EQ(to_float(to_bf16(1.0f + 3 * 0x1p-8f)), 1.0f + 0x1p-6f);
  EXPECT_EQ(to_float(to_f16(1.0f + 0x1p-11f)), 1.0f);
  EXPECT_EQ(to_float(to_f16(65520.0f)), std::numeric_limits<float>::infinity());
  EXPECT_EQ(to_float(to_f16(65519.0f)), 65504.0f);
  EXPECT_EQ(to_float(to_f16(0x1p-25f)), 0.0f);
  EXPECT_EQ(to_float(to_f16(0x1.8p-24f)), 0x1p-23f);
}

TEST(Buffer, SaysThatMemoryIsNotThereInsteadOfAborting) {
  for (const std::size_t bytes : {std::size_t{1} << 60, SIZE_MAX, SIZE_MAX - 100}) {
    EXPECT_THROW(Buffer buffer(bytes), std::bad_alloc) << bytes;
  }
}

TEST(Buffer, IsZeroAndMoves) {
  Buffer buffer(3 << 20);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % (2u << 20), 0u);
  EXPECT_EQ(buffer.as<int>()[700000], 0);
  buffer.as<int>()[0] = 5;
  const Buffer moved = std::move(buffer);
  EXPECT_EQ(moved.as<int>()[0], 5);
}

}  // namespace
}  // namespace outrider::tensor
