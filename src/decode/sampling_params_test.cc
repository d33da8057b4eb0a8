#include "decode/sampling_params.h"

#include <gtest/gtest.h>

#include <limits>

namespace outrider::decode {
namespace {

TEST(SamplingParams, RefusesEveryFieldThatIsOutOfItsRangeAtOnce) {
  const SamplingParams params{.temperature = -1,
                              .top_k = -2,
                              .top_p = 0,
                              .min_p = 1.5,
                              .repetition_penalty = 0,
                              .presence_penalty = 2.5,
                              .frequency_penalty = std::numeric_limits<double>::quiet_NaN(),
                              .logit_bias = {{-1, 0}, {10, 1}, {3, 101}}};
  base::Inspector inspector;
  check_sampling(params, 10, inspector);
  std::vector<std::string> fields;
  for (const base::Problem& problem : inspector.problems()) fields.push_back(problem.field);
  EXPECT_EQ(fields,
            (std::vector<std::string>{"--temperature", "--top-k", "--top-p", "--min-p",
                                      "--repetition-penalty", "--presence-penalty", "--frequency-penalty",
                                      "--logit-bias[-1]", "--logit-bias[10]", "--logit-bias[3]"}));
}

TEST(SamplingParams, AcceptsTheBordersOfEveryRange) {
  base::Inspector inspector;
  check_sampling({}, 1, inspector);
  check_sampling({.temperature = 0,
                  .top_k = -1,
                  .top_p = 1,
                  .min_p = 1,
                  .repetition_penalty = 1e-3,
                  .presence_penalty = -2,
                  .frequency_penalty = 2,
                  .logit_bias = {{0, -100}, {9, 100}}},
                 10, inspector);
  EXPECT_TRUE(inspector.clean()) << (inspector.clean() ? "" : to_string(inspector.problems()[0]));
}

TEST(SamplingParams, NamesFieldsAsARequestWritesThem) {
  base::Inspector inspector;
  check_sampling({.top_p = 2}, 10, inspector, FieldNames::Json);
  ASSERT_EQ(inspector.problems().size(), 1u);
  EXPECT_EQ(to_string(inspector.problems()[0]), "top_p = 2: must be a finite number above 0 and at most 1");
}

TEST(LogitBias, ReadsAnObjectOfIdsSortedAndRefusesAllElse) {
  const auto parse = [](std::string_view text) {
    return parse_logit_bias(*base::parse_json(text, "test"), "--logit-bias");
  };
  const auto good = parse(R"({"70": -1.5, "9": 2})");
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(*good, (std::vector<std::pair<base::TokenId, double>>{{9, 2.0}, {70, -1.5}}));
  EXPECT_FALSE(parse("[1]").ok());
  for (const char* key : {"-1", "x", "007", "1.0", "", " 1", "99999999999999999999"}) {
    EXPECT_FALSE(parse(std::string("{\"") + key + "\": 1}").ok()) << key;
  }
  const auto bad = parse(R"({"1": "a", "b": 2})");
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().problems.size(), 2u);
}

}  // namespace
}  // namespace outrider::decode
