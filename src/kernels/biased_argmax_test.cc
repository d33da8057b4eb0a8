#include "kernels/biased_argmax.h"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/elementwise.h"
#include "kernels/test_support.h"

namespace outrider::kernels::test {
namespace {

struct Case {
  std::vector<float> weights, x, base;
  std::int64_t outputs, inputs;
};

// Logits of a wide spread, as trained heads give, or close together; `scale` of the bias beside them.
Case make_case(std::int64_t outputs, std::int64_t inputs, std::int64_t rows, float scale, bool is_close) {
  Values values(static_cast<std::uint64_t>(outputs * 31 + inputs + rows));
  Case made{values.many(outputs * inputs), values.many(rows * inputs), values.many(rows * outputs), outputs,
            inputs};
  for (float& weight : made.weights) weight *= scale;
  if (is_close) return made;
  for (float& logit : made.base) logit = logit * logit * logit * logit * logit * 12;
  return made;
}

// By the long way: the whole product, the sum, the first of the largest.
std::vector<std::int32_t> argmax_of(Executor& executor, const Case& made, const PackedMatrix& matrix,
                                    std::vector<float>& values) {
  std::vector<float> sums(made.base.size()), logits = made.base;
  linear(executor, view(made.x, made.inputs), matrix, {}, view(sums, made.outputs));
  add_rows(executor, view(sums, made.outputs), view(logits, made.outputs));
  std::vector<std::int32_t> best;
  for (std::size_t row = 0; row * static_cast<std::size_t>(made.outputs) < logits.size(); ++row) {
    const auto first = logits.begin() + static_cast<std::ptrdiff_t>(row) * made.outputs;
    best.push_back(static_cast<std::int32_t>(std::max_element(first, first + made.outputs) - first));
    values.push_back(first[best.back()]);
  }
  return best;
}

struct Answer {
  bool decided;
  std::vector<std::int32_t> index;
  std::vector<float> value;
};
Answer search(Executor& executor, const Case& made, const PackedMatrix& matrix) {
  const std::size_t rows = made.base.size() / static_cast<std::size_t>(made.outputs);
  Answer answer{false, std::vector<std::int32_t>(rows, -7), std::vector<float>(rows)};
  const std::vector<float> lengths = derive_output_lengths(executor, matrix);
  answer.decided = biased_argmax(executor, view(made.x, made.inputs), matrix, lengths,
                                 view(made.base, made.outputs), answer.index, answer.value);
  return answer;
}

TEST(BiasedArgmax, IsTheArgmaxOfProductAndSumInEveryFormatAndTarget) {
  for (const Target target : available_targets()) {
    for (const WeightFormat format : all_formats()) {
      for (const Arithmetic arithmetic : all_arithmetics()) {
        for (const float scale : {0.01F, 0.3F, 2.0F}) {
          for (const bool is_close : {false, true}) {
            SCOPED_TRACE(describe(target, format, arithmetic) + " scale " + std::to_string(scale));
            Executor executor(target, 3, arithmetic);
            const Case made = make_case(1003, 64, 1, scale, is_close);
            const PackedMatrix matrix = packed(executor, made.weights, made.inputs, format);
            std::vector<float> values;
            const std::vector<std::int32_t> expected = argmax_of(executor, made, matrix, values);
            const Answer answer = search(executor, made, matrix);
            if (scale < 0.1F && !is_close) {
              EXPECT_TRUE(answer.decided);  // few outputs are near the best
            }
            if (!answer.decided) continue;
            EXPECT_EQ(answer.index, expected);
            EXPECT_EQ(answer.value, values);
          }
        }
      }
    }
  }
}

TEST(BiasedArgmax, FindsAWinnerThatOnlyTheBiasMakes) {
  Executor executor(best_target(), 1, Arithmetic::Float32);
  Case made = make_case(200, 8, 1, 0.0F, false);
  made.base.assign(200, 0);
  made.base[3] = 5;  // the best so far
  for (std::size_t k = 0; k < 8; ++k) made.weights[150 * 8 + k] = made.x[k] * 4;
  const PackedMatrix matrix = packed(executor, made.weights, 8, WeightFormat::F32);
  const Answer answer = search(executor, made, matrix);
  ASSERT_TRUE(answer.decided);
  EXPECT_EQ(answer.index[0], 150);
}

TEST(BiasedArgmax, TakesTheLowestIndexOfEquals) {
  for (const int threads : {1, 2, 5}) {
    Executor executor(best_target(), threads, Arithmetic::Float32);
    Case made = make_case(300, 8, 1, 0.0F, false);
    made.base.assign(300, 1);
    const PackedMatrix matrix = packed(executor, made.weights, 8, WeightFormat::F32);
    made.base[70] = made.base[71] = made.base[250] = 2;
    EXPECT_EQ(search(executor, made, matrix).index[0], 70);
    made.base[299] = 2.5F;
    EXPECT_EQ(search(executor, made, matrix).index[0], 299);
  }
}

TEST(BiasedArgmax, AnswersSeveralRowsOrLeavesThemToTheProduct) {
  Executor executor(best_target(), 2, Arithmetic::Bfloat16);
  const Case apart = make_case(2000, 16, 5, 0.02F, false);
  const PackedMatrix matrix = packed(executor, apart.weights, 16, WeightFormat::Bf16);
  std::vector<float> values;
  const std::vector<std::int32_t> expected = argmax_of(executor, apart, matrix, values);
  const Answer answer = search(executor, apart, matrix);
  ASSERT_TRUE(answer.decided);
  EXPECT_EQ(answer.index, expected);
  EXPECT_EQ(answer.value, values);

  Case close = apart;
  close.base.assign(close.base.size(), 0);  // nothing can be excluded
  EXPECT_FALSE(search(executor, close, matrix).decided);
}

TEST(BiasedArgmax, DecidesNothingWhereANumberIsNotFinite) {
  Executor executor(best_target(), 1, Arithmetic::Float32);
  const Case good = make_case(100, 8, 1, 0.3F, false);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    Case made = good;
    made.base[77] = bad;
    EXPECT_FALSE(search(executor, made, packed(executor, made.weights, 8, WeightFormat::F32)).decided);
    made = good;
    made.x[3] = bad;
    EXPECT_FALSE(search(executor, made, packed(executor, made.weights, 8, WeightFormat::F32)).decided);
    made = good;
    made.weights[5] = bad;
    EXPECT_FALSE(search(executor, made, packed(executor, made.weights, 8, WeightFormat::F32)).decided);
  }
}

}  // namespace
}  // namespace outrider::kernels::test
