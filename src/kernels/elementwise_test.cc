#include "kernels/elementwise.h"

#include <gtest/gtest.h>

#include "kernels/test_support.h"

namespace outrider::kernels::test {
namespace {

const std::int64_t kWidths[] = {1, 2, 7, 15, 16, 17, 33, 64, 100, 1000};

TEST(RmsNorm, EqualsADoublePrecisionNorm) {
  for (const Target target : available_targets()) {
    Executor executor(target, 1, Arithmetic::Float32);
    for (const std::int64_t width : kWidths) {
      Values values(static_cast<std::uint64_t>(width));
      const std::vector<float> x = values.many(width), weight = values.many(width);
      std::vector<float> y(x.size());
      rms_norm(executor, view(x, width), weight, 1e-6F, view(y, width));
      double square = 0;
      for (const float value : x) square += static_cast<double>(value) * static_cast<double>(value);
      const double factor = 1 / std::sqrt(square / static_cast<double>(width) + 1e-6);
      for (std::size_t i = 0; i < y.size(); ++i) {
        const double want = static_cast<double>(x[i]) * factor * static_cast<double>(weight[i]);
        ASSERT_NEAR(static_cast<double>(y[i]), want, 2e-6 * (std::abs(want) + 1e-3))
            << name_of(target) << width;
      }
    }
  }
}

TEST(NormAndRotate, NormsEachHeadThenTurnsItsTwoHalves) {
  for (const Target target : available_targets()) {
    Executor executor(target, 1, Arithmetic::Float32);
    for (const std::int64_t width : {2, 6, 16, 34, 128}) {
      const std::int64_t half = width / 2, heads = 3;
      Values values(static_cast<std::uint64_t>(width));
      std::vector<float> cosine, sine;
      for (std::int64_t i = 0; i < 5 * half; ++i) {
        cosine.push_back(std::cos(static_cast<float>(i)));
        sine.push_back(std::sin(static_cast<float>(i)));
      }
      const std::vector<float> original = values.many(2 * heads * width), weight = values.many(width);
      const std::vector<std::int64_t> positions = {4, 1};
      for (const bool norm : {false, true}) {
        std::vector<float> x = original, normed = original;
        if (norm) rms_norm(executor, view(original, width), weight, 1e-5F, view(normed, width));
        norm_and_rotate(executor, view(x, heads * width), static_cast<int>(heads),
                        norm ? std::span<const float>(weight) : std::span<const float>(), 1e-5F, positions,
                        {view(std::as_const(cosine), half), view(std::as_const(sine), half)});
        for (std::int64_t i = 0; i < 2 * heads; ++i) {
          for (std::int64_t j = 0; j < half; ++j) {
            const std::size_t angle =
                static_cast<std::size_t>(positions[static_cast<std::size_t>(i / heads)] * half + j);
            const float a = normed[static_cast<std::size_t>(i * width + j)];
            const float b = normed[static_cast<std::size_t>(i * width + j + half)];
            ASSERT_NEAR(x[static_cast<std::size_t>(i * width + j)], a * cosine[angle] - b * sine[angle],
                        1e-6);
            ASSERT_NEAR(x[static_cast<std::size_t>(i * width + j + half)],
                        b * cosine[angle] + a * sine[angle], 1e-6);
          }
        }
      }
    }
  }
}

TEST(SiluMultiply, HoldsOverTheWholeRange) {
  for (const Target target : available_targets()) {
    Executor executor(target, 1, Arithmetic::Float32);
    std::vector<float> gate_up, want;
    for (float gate = -120; gate <= 120; gate += 0.37F) gate_up.push_back(gate);
    for (const float gate : {0.0F, -0.0F, 1e-30F, 2e38F, -2e38F, 88.7F, -88.7F, -87.3F, -104.0F})
      gate_up.push_back(gate);
    const std::size_t width = gate_up.size();
    for (std::size_t i = 0; i < width; ++i) gate_up.push_back(1.5F);
    std::vector<float> y(width);
    silu_multiply(executor, view(gate_up, static_cast<std::int64_t>(2 * width)),
                  view(y, static_cast<std::int64_t>(width)));
    for (std::size_t i = 0; i < width; ++i) {
      const double gate = static_cast<double>(gate_up[i]);
      const double exact = gate / (1 + std::exp(-gate)) * 1.5;
      // Below -87 the true value is under 1e-36; a target may flush it.
      ASSERT_NEAR(static_cast<double>(y[i]), exact, 1e-6 * std::abs(exact) + 1e-35)
          << name_of(target) << " " << gate;
    }
  }
}

TEST(AddRows, AddsStridedRows) {
  for (const Target target : available_targets()) {
    Executor executor(target, 2, Arithmetic::Float32);
    Values values(6);
    const std::vector<float> delta = values.many(3 * 21), original = values.many(3 * 40);
    std::vector<float> x = original;
    add_rows(executor, view(delta, 21), view(x, 40).column_range(5, 21));
    for (std::size_t r = 0; r < 3; ++r) {
      for (std::size_t c = 0; c < 40; ++c) {
        const float add = c >= 5 && c < 26 ? delta[r * 21 + c - 5] : 0.0F;
        ASSERT_EQ(x[r * 40 + c], original[r * 40 + c] + add);
      }
    }
  }
}

TEST(Elementwise, ARowsBytesDoNotDependOnRowCountPlaceOrThreads) {
  const std::int64_t width = 2 * 267, half = 267, rows_max = 64;  // above the size that stays on one thread
  const std::vector<float> x = Values(12).many(rows_max * width), weight = Values(13).many(width);
  for (const Target target : available_targets()) {
    Executor single(target, 1, Arithmetic::Float32);
    std::vector<float> normed(x.size()), activated(static_cast<std::size_t>(rows_max * half));
    for (std::int64_t r = 0; r < rows_max; ++r) {
      rms_norm(single, view(x, width).row_range(r, 1), weight, 1e-6F, view(normed, width).row_range(r, 1));
      silu_multiply(single, view(x, width).row_range(r, 1), view(activated, half).row_range(r, 1));
    }
    for (const int threads : {1, 2, 3}) {
      Executor executor(target, threads, Arithmetic::Float32);
      for (std::int64_t rows = 1; rows <= rows_max; ++rows) {
        const std::int64_t first = (rows_max - rows) / 3;
        std::vector<float> y(static_cast<std::size_t>(rows * width)),
            z(static_cast<std::size_t>(rows * half));
        rms_norm(executor, view(x, width).row_range(first, rows), weight, 1e-6F, view(y, width));
        silu_multiply(executor, view(x, width).row_range(first, rows), view(z, half));
        ASSERT_TRUE(same_bytes(y.data(), normed.data() + first * width, rows * width));
        ASSERT_TRUE(same_bytes(z.data(), activated.data() + first * half, rows * half));
      }
    }
  }
}

}  // namespace
}  // namespace outrider::kernels::test
