#include "checkpoint/dummy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tensor/float16.h"

namespace outrider::checkpoint {
namespace {

std::vector<float> floats_of(const HeldTensor& held) {
  std::vector<float> values(static_cast<std::size_t>(held.view.element_count()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    tensor::Bf16 value;
    std::memcpy(&value, held.view.data + i * sizeof value, sizeof value);
    values[i] = tensor::to_float(value);
  }
  return values;
}

const std::vector<TensorSpec>& specs() {
  static const std::vector<TensorSpec> list = {{.name = "w", .shape = {1001, 333}, .dtype = {}},
                                               {.name = "v", .shape = {1001, 333}, .dtype = {}},
                                               {.name = "q_norm.weight", .shape = {7}, .dtype = {}},
                                               {.name = "q_proj.bias", .shape = {7}, .dtype = {}},
                                               {.name = "d2t", .shape = {3}, .dtype = tensor::Dtype::I64},
                                               {.name = "t2d", .shape = {5}, .dtype = tensor::Dtype::Bool},
                                               {.name = "head", .shape = {5}, .dtype = {}, .optional = true}};
  return list;
}

TEST(DummyWeights, AreNormalWithDeviationTwoHundredths) {
  const auto held = DummyWeights(specs(), 1).tensor("w");
  ASSERT_TRUE(held.ok());
  EXPECT_EQ(held->view.dtype, tensor::Dtype::BF16);
  double sum = 0, squares = 0, fourth = 0, neighbours = 0;
  const std::vector<float> values = floats_of(*held);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double z = values[i] / 0.02;
    sum += z;
    squares += z * z;
    fourth += z * z * z * z;
    if (i > 0) neighbours += z * values[i - 1] / 0.02;
  }
  const auto count = static_cast<double>(values.size());
  EXPECT_NEAR(sum / count, 0, 5 / std::sqrt(count));
  EXPECT_NEAR(neighbours / count, 0, 5 / std::sqrt(count));
  EXPECT_NEAR(squares / count, 1, 0.02);
  EXPECT_NEAR(fourth / count, 3, 0.1);  // a normal distribution's
}

TEST(DummyWeights, AddLittleToTheStreamWhereThereAreExpertsAndOnlyThere) {
  const auto deviation_of = [](const DummyWeights& weights, std::string_view name) {
    double squares = 0;
    const std::vector<float> values = floats_of(*weights.tensor(name));
    for (const float value : values) squares += static_cast<double>(value) * static_cast<double>(value);
    return std::sqrt(squares / static_cast<double>(values.size()));
  };
  std::vector<TensorSpec> list = {{.name = "l.self_attn.o_proj.weight", .shape = {300, 100}, .dtype = {}},
                                  {.name = "l.self_attn.q_proj.weight", .shape = {300, 100}, .dtype = {}}};
  EXPECT_NEAR(deviation_of(DummyWeights(list, 1), list[0].name), 0.02, 0.0005);
  list.push_back({.name = "l.mlp.experts.0.down_proj.weight", .shape = {300, 100}, .dtype = {}});
  const DummyWeights weights(list, 1);
  EXPECT_NEAR(deviation_of(weights, list[0].name), 0.0002, 0.000005);
  EXPECT_NEAR(deviation_of(weights, list[1].name), 0.02, 0.0005);
  EXPECT_NEAR(deviation_of(weights, list[2].name), 0.0002, 0.000005);
}

TEST(DummyWeights, DependOnSeedAndNameAlone) {
  const DummyWeights weights(specs(), 1);
  const auto first = floats_of(*weights.tensor("w"));
  EXPECT_NE(first, floats_of(*weights.tensor("v")));
  EXPECT_EQ(first, floats_of(*weights.tensor("w")));
  EXPECT_EQ(first, floats_of(*DummyWeights({specs()[0]}, 1).tensor("w")));
  EXPECT_NE(first, floats_of(*DummyWeights(specs(), 2).tensor("w")));
}

TEST(DummyWeights, HaveGainsOfOneBiasesOfZeroAndADraftVocabularyThatIsThePrefix) {
  const DummyWeights weights(specs(), 1);
  for (const float gain : floats_of(*weights.tensor("q_norm.weight"))) EXPECT_EQ(gain, 1.0f);
  for (const float bias : floats_of(*weights.tensor("q_proj.bias"))) EXPECT_EQ(bias, 0.0f);
  const auto d2t = weights.tensor("d2t"), t2d = weights.tensor("t2d");
  for (int i = 0; i < 24; ++i) EXPECT_EQ(d2t->view.data[i], std::byte{0});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(t2d->view.data[i], i < 3 ? std::byte{1} : std::byte{0});
  EXPECT_FALSE(weights.has("head"));
  EXPECT_FALSE(weights.tensor("head").ok());
}

}  // namespace
}  // namespace outrider::checkpoint
