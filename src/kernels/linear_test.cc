#include "kernels/linear.h"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/test_support.h"

namespace outrider::kernels::test {
namespace {

struct Shape {
  std::int64_t outputs, inputs;
};
const Shape kShapes[] = {{1, 1}, {3, 7}, {32, 32}, {33, 31}, {64, 64}, {70, 129}, {100, 333}, {256, 512}};

// What the product should be, in double, on the weights as they are held, with activations as the arithmetic
// sees them, and the sum of magnitudes that error bounds scale with.
struct Expected {
  double sum, magnitude;
};
Expected expected_at(const std::vector<float>& held, const float* x, std::int64_t inputs, std::int64_t output,
                     bool rounded) {
  Expected e{0, 0};
  for (std::int64_t k = 0; k < inputs; ++k) {
    const float xk = rounded ? tensor::to_float(tensor::to_bf16(x[k])) : x[k];
    const double term =
        static_cast<double>(xk) * static_cast<double>(held[static_cast<std::size_t>(output * inputs + k)]);
    e.sum += term;
    e.magnitude += std::abs(term);
  }
  return e;
}

std::vector<float> held_weights(const PackedMatrix& matrix) {
  std::vector<float> held(static_cast<std::size_t>(matrix.outputs() * matrix.inputs()));
  for (std::int64_t n = 0; n < matrix.outputs(); ++n) {
    unpack_row(matrix, n, {held.data() + n * matrix.inputs(), static_cast<std::size_t>(matrix.inputs())});
  }
  return held;
}

void check_product(Target target, const Shape& shape, WeightFormat format, Arithmetic arithmetic) {
  SCOPED_TRACE(describe(target, format, arithmetic) + " " + std::to_string(shape.outputs) + "x" +
               std::to_string(shape.inputs));
  Executor executor(target, 1, arithmetic);
  Values values(static_cast<std::uint64_t>(shape.outputs * 1000 + shape.inputs));
  const std::vector<float> weights = values.many(shape.outputs * shape.inputs);
  const std::vector<float> bias = values.many(shape.outputs);
  const std::int64_t rows = 19;
  const std::vector<float> x = values.many(rows * shape.inputs);
  const PackedMatrix matrix = packed(executor, weights, shape.inputs, format);
  const std::vector<float> held = held_weights(matrix);
  std::vector<float> y(static_cast<std::size_t>(rows * shape.outputs));
  linear(executor, view(x, shape.inputs), matrix, bias, view(y, shape.outputs));
  const bool quantised = format == WeightFormat::Int8 || format == WeightFormat::Int4;
  const bool rounded = arithmetic == Arithmetic::Bfloat16 && !quantised;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t n = 0; n < shape.outputs; ++n) {
      const Expected e = expected_at(held, x.data() + r * shape.inputs, shape.inputs, n, rounded);
      const double want = e.sum + static_cast<double>(bias[static_cast<std::size_t>(n)]);
      // Float sums: one rounding a term. Quantised activations: half a step of max|x| / 127 each, on every
      // weight.
      double bound = 1e-6 * static_cast<double>(shape.inputs + 4) * (e.magnitude + 1) / 4;
      if (quantised) {
        double weight_sum = 0;
        for (std::int64_t k = 0; k < shape.inputs; ++k) {
          weight_sum += std::abs(static_cast<double>(held[static_cast<std::size_t>(n * shape.inputs + k)]));
        }
        bound += weight_sum * 0.5 / 127 * 1.001;
      }
      ASSERT_NEAR(static_cast<double>(y[static_cast<std::size_t>(r * shape.outputs + n)]), want, bound)
          << "row " << r << " output " << n;
    }
  }
}

TEST(Linear, EqualsAPlainDoubleSumForEveryTargetFormatAndShape) {
  for (const Target target : available_targets()) {
    for (const Shape& shape : kShapes) {
      for (const WeightFormat format : all_formats()) {
        for (const Arithmetic arithmetic : all_arithmetics())
          check_product(target, shape, format, arithmetic);
      }
    }
  }
}

// One row alone, by one thread, against the same row anywhere among others, by any number of threads.
TEST(Linear, ARowsBytesDoNotDependOnRowCountPlaceOrThreads) {
  const Shape shape{97, 150};
  const std::int64_t rows_max = 64;
  for (const Target target : available_targets()) {
    for (const WeightFormat format : all_formats()) {
      for (const Arithmetic arithmetic : all_arithmetics()) {
        SCOPED_TRACE(describe(target, format, arithmetic));
        Values values(7);
        const std::vector<float> weights = values.many(shape.outputs * shape.inputs);
        const std::vector<float> x = values.many(rows_max * shape.inputs);
        Executor single(target, 1, arithmetic);
        const PackedMatrix matrix = packed(single, weights, shape.inputs, format);
        std::vector<float> alone(static_cast<std::size_t>(rows_max * shape.outputs));
        for (std::int64_t r = 0; r < rows_max; ++r) {
          linear(single, view(x, shape.inputs).row_range(r, 1), matrix, {},
                 view(alone, shape.outputs).row_range(r, 1));
        }
        for (const int threads : {1, 2, 3}) {
          Executor executor(target, threads, arithmetic);
          for (std::int64_t rows = 1; rows <= rows_max; ++rows) {
            const std::int64_t first = (rows_max - rows) / 2;
            std::vector<float> y(static_cast<std::size_t>(rows * shape.outputs));
            linear(executor, view(x, shape.inputs).row_range(first, rows), matrix, {},
                   view(y, shape.outputs));
            ASSERT_TRUE(same_bytes(y.data(), alone.data() + first * shape.outputs, rows * shape.outputs))
                << rows << " rows from " << first << ", " << threads << " threads";
          }
        }
      }
    }
  }
}

TEST(Linear, ReadsAndWritesStridedRowsAndNothingBeside) {
  for (const Target target : available_targets()) {
    for (const WeightFormat format : all_formats()) {
      Executor executor(target, 2, Arithmetic::Bfloat16);
      SCOPED_TRACE(describe(target, format, Arithmetic::Bfloat16));
      Values values(3);
      const std::vector<float> weights = values.many(45 * 50);
      std::vector<float> x = values.many(5 * 80);
      const PackedMatrix matrix = packed(executor, weights, 50, format);
      std::vector<float> dense_x;
      for (int r = 0; r < 5; ++r)
        dense_x.insert(dense_x.end(), x.begin() + r * 80 + 11, x.begin() + r * 80 + 61);
      std::vector<float> want(5 * 45), y(5 * 60, 77.0F);
      linear(executor, view(dense_x, 50), matrix, {}, view(want, 45));
      linear(executor, view(x, 80).column_range(11, 50), matrix, {}, view(y, 60).column_range(3, 45));
      for (int r = 0; r < 5; ++r) {
        for (int c = 0; c < 60; ++c) {
          const float expected = c >= 3 && c < 48 ? want[static_cast<std::size_t>(r * 45 + c - 3)] : 77.0F;
          ASSERT_EQ(y[static_cast<std::size_t>(r * 60 + c)], expected) << r << "," << c;
        }
      }
    }
  }
}

// The reference defines the arithmetic of quantised products; the others reproduce it bit for bit, on values
// that hurt.
TEST(Linear, QuantisedProductsOfEveryTargetAreTheReferencesBytes) {
  Values values(11);
  for (const Shape& shape : {Shape{33, 31}, Shape{64, 64}, Shape{70, 129}, Shape{40, 1056}, Shape{64, 224}}) {
    std::vector<float> weights = values.many(shape.outputs * shape.inputs);
    std::vector<float> x = values.many(14 * shape.inputs);
    for (std::int64_t k = 0; k < shape.inputs; ++k) {
      const auto at = [&](std::int64_t row) { return static_cast<std::size_t>(row * shape.inputs + k); };
      weights[at(0)] = 0.25F;                           // all equal
      weights[at(1)] = 0;                               // all zero
      weights[at(2)] = k % 2 == 0 ? 3e38F : -3e38F;     // extremes of the format
      weights[at(3)] = k % 32 == 5 ? 1000.0F : 0.001F;  // one outlier a group
      weights[at(4)] = -1;                              // every code at its end
      weights[at(5)] = k % 3 == 0 ? 1e-42F : -1e-38F;   // denormals
      x[at(0)] = 1;
      x[at(1)] = 0;
      x[at(2)] = -1;
      x[at(3)] = k % 2 == 0 ? 1.0F : -1.0F;
      x[at(4)] = k % 32 == 31 ? 1e30F : 1e-30F;
      x[at(5)] = 1e-40F;
      x[at(6)] = static_cast<float>(k % 32) - 15.5F;  // ties of rounding
      x[at(7)] = k % 128 == 100 ? -127.0F : 0.5F;     // one outlier a span, the others at ties
      x[at(8)] = k < 128 ? 0.0F : 1e-3F;              // a span of zeros, then others
    }
    for (const WeightFormat format : {WeightFormat::Int8, WeightFormat::Int4}) {
      Executor reference(Target::Reference, 1, Arithmetic::Float32);
      const PackedMatrix matrix = packed(reference, weights, shape.inputs, format);
      std::vector<float> want(static_cast<std::size_t>(14 * shape.outputs)), y = want;
      linear(reference, view(x, shape.inputs), matrix, {}, view(want, shape.outputs));
      for (const Target target : available_targets()) {
        for (const Arithmetic arithmetic : all_arithmetics()) {
          Executor executor(target, 1, arithmetic);
          linear(executor, view(x, shape.inputs), matrix, {}, view(y, shape.outputs));
          ASSERT_TRUE(same_bytes(y.data(), want.data(), 14 * shape.outputs))
              << describe(target, format, arithmetic);
        }
      }
    }
  }
}

TEST(Linear, NotFiniteActivationsShowInTheirOwnRowOnly) {
  for (const Target target : available_targets()) {
    for (const WeightFormat format : all_formats()) {
      SCOPED_TRACE(describe(target, format, Arithmetic::Float32));
      Executor executor(target, 1, Arithmetic::Float32);
      Values values(5);
      const PackedMatrix matrix = packed(executor, values.many(40 * 64), 64, format);
      std::vector<float> x = values.many(3 * 64), clean(3 * 40), y(3 * 40);
      linear(executor, view(x, 64), matrix, {}, view(clean, 40));
      x[64 + 17] = std::numeric_limits<float>::quiet_NaN();
      linear(executor, view(x, 64), matrix, {}, view(y, 40));
      EXPECT_TRUE(same_bytes(y.data(), clean.data(), 40));
      EXPECT_TRUE(same_bytes(y.data() + 80, clean.data() + 80, 40));
      for (int n = 0; n < 40; ++n) EXPECT_TRUE(std::isnan(y[static_cast<std::size_t>(40 + n)]));
    }
  }
}

TEST(LinearArgmax, IsTheArgmaxOfTheProductAndTakesTheLowestOfEquals) {
  for (const Target target : available_targets()) {
    for (const WeightFormat format : all_formats()) {
      for (const int threads : {1, 2, 3}) {
        SCOPED_TRACE(describe(target, format, Arithmetic::Bfloat16));
        Executor executor(target, threads, Arithmetic::Bfloat16);
        Values values(23);
        const std::int64_t outputs = 203, inputs = 40, rows = 21;
        std::vector<float> weights = values.many(outputs * inputs);
        // Equal outputs, in one panel and across panels and threads.
        for (const std::int64_t twin : {5, 6, 40, 100, 202}) {
          for (std::int64_t k = 0; k < inputs; ++k) {
            weights[static_cast<std::size_t>(twin * inputs + k)] = k % 2 == 0 ? 2.0F : -2.0F;
          }
        }
        std::vector<float> x = values.many(rows * inputs);
        for (std::int64_t k = 0; k < inputs; ++k) x[static_cast<std::size_t>(k)] = k % 2 == 0 ? 1.0F : -1.0F;
        const PackedMatrix matrix = packed(executor, weights, inputs, format);
        std::vector<float> y(static_cast<std::size_t>(rows * outputs)), value(static_cast<std::size_t>(rows));
        std::vector<std::int32_t> index(static_cast<std::size_t>(rows));
        linear(executor, view(x, inputs), matrix, {}, view(y, outputs));
        linear_argmax(executor, view(x, inputs), matrix, index, value);
        for (std::int64_t r = 0; r < rows; ++r) {
          const float* row = y.data() + r * outputs;
          const std::int64_t best = std::max_element(row, row + outputs) - row;
          ASSERT_EQ(index[static_cast<std::size_t>(r)], best) << "row " << r;
          ASSERT_EQ(value[static_cast<std::size_t>(r)], row[best]);
        }
        EXPECT_EQ(index[0], 5);
      }
    }
  }
}

TEST(LinearArgmax, NeverLetsNaNWin) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  for (const Target target : available_targets()) {
    Executor executor(target, 2, Arithmetic::Float32);
    std::vector<float> weights(70, nan);
    weights[41] = -infinity;
    std::vector<float> x = {1, -1}, value(2);
    std::vector<std::int32_t> index(2);
    const PackedMatrix some = packed(executor, weights, 1, WeightFormat::F32);
    linear_argmax(executor, view(x, 1), some, index, value);
    EXPECT_EQ(index[0], 41);
    EXPECT_EQ(value[0], -infinity);
    EXPECT_EQ(index[1], 41);
    weights[41] = nan;
    const PackedMatrix none = packed(executor, weights, 1, WeightFormat::F32);
    linear_argmax(executor, view(x, 1), none, index, value);
    EXPECT_EQ(index[0], 0);
    EXPECT_TRUE(std::isnan(value[0]));
  }
}

}  // namespace
}  // namespace outrider::kernels::test
