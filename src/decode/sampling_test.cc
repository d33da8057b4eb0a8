#include "decode/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "base/json.h"
#include "decode/toy_model.h"

namespace outrider::decode {
namespace {

using base::Json;
using base::TokenId;

std::vector<TokenId> read_ids(const Json* json) {
  std::vector<TokenId> ids;
  for (const Json& item : *json->array()) ids.push_back(static_cast<TokenId>(*item.integer()));
  return ids;
}

std::vector<float> read_logits(const Json* json) {
  std::vector<float> logits;
  for (const Json& item : *json->array()) {
    logits.push_back(item.is_null() ? -std::numeric_limits<float>::infinity()
                                    : static_cast<float>(*item.number()));
  }
  return logits;
}

SamplingParams read_params(const Json* json) {
  const auto number = [&](const char* key) { return *json->find(key)->number(); };
  auto bias = parse_logit_bias(*json->find("logit_bias"), "logit_bias");
  EXPECT_TRUE(bias.ok());
  return {.temperature = number("temperature"),
          .top_k = *json->find("top_k")->integer(),
          .top_p = number("top_p"),
          .min_p = number("min_p"),
          .repetition_penalty = number("repetition_penalty"),
          .presence_penalty = number("presence_penalty"),
          .frequency_penalty = number("frequency_penalty"),
          .logit_bias = *std::move(bias)};
}

Json read_golden() {
  std::ifstream file(OUTRIDER_TEST_DATA "/sampling/golden.json");
  std::stringstream text;
  text << file.rdbuf();
  auto json = base::parse_json(text.str(), "golden.json");
  EXPECT_TRUE(json.ok());
  return *std::move(json);
}

void expect_distribution(const Distribution& distribution, const Json* expect, std::size_t vocabulary) {
  std::vector<double> wanted(vocabulary, 0);
  const std::vector<TokenId> ids = read_ids(expect->find("support_ids"));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    wanted[static_cast<std::size_t>(ids[i])] = *(*expect->find("probs")->array())[i].number();
  }
  for (std::size_t id = 0; id < vocabulary; ++id) {
    const double found = probability_of(distribution, static_cast<TokenId>(id));
    EXPECT_NEAR(found, wanted[id], 2e-6) << "token " << id;
    const bool may_vanish = wanted[id] > 0 && wanted[id] < 1e-30;
    EXPECT_TRUE(may_vanish || (found > 0) == (wanted[id] > 0)) << "token " << id;
  }
}

TEST(Sampling, GivesTheProbabilitiesOfEveryGoldenCase) {
  const Json golden = read_golden();
  SamplingScratch scratch;
  Distribution distribution;
  ASSERT_FALSE(golden.find("cases")->array()->empty());
  for (const Json& one : *golden.find("cases")->array()) {
    SCOPED_TRACE(*one.find("name")->string());
    const std::vector<float> logits = read_logits(one.find("logits"));
    const Json* params_json = one.find("params");
    SamplingParams params = read_params(params_json);
    base::Inspector inspector;
    check_sampling(params, static_cast<std::int64_t>(logits.size()), inspector);
    EXPECT_TRUE(inspector.clean());
    TokenHistory history(read_ids(params_json->find("prompt_token_ids")));
    history.append(read_ids(params_json->find("output_token_ids")));
    ASSERT_TRUE(process_logits(logits, params, history, scratch, distribution).ok());
    expect_distribution(distribution, one.find("expect"), logits.size());
    params.temperature = 0;
    ASSERT_TRUE(process_logits(logits, params, history, scratch, distribution).ok());
    EXPECT_EQ(std::get<OneHot>(distribution).id, *one.find("expect")->find("greedy_token_id")->integer());
  }
}

TEST(Sampling, GivesTheRawLogprobsOfEveryGoldenCase) {
  const Json golden = read_golden();
  SamplingScratch scratch;
  for (const Json& one : *golden.find("cases")->array()) {
    SCOPED_TRACE(*one.find("name")->string());
    const std::vector<float> logits = read_logits(one.find("logits"));
    const std::vector<TokenId> ids = read_ids(one.find("expect")->find("raw_logprobs_top5_ids"));
    const Json::Array& logprobs = *one.find("expect")->find("raw_logprobs_top5")->array();
    const RowLogprobs row = derive_logprobs(logits, ids.back(), 5, scratch);
    ASSERT_EQ(row.top.size(), ids.size());
    for (std::size_t i = 0; i < row.top.size(); ++i) {
      EXPECT_EQ(row.top[i].id, ids[i]);
      const double wanted = *logprobs[i].number();
      EXPECT_NEAR(row.top[i].logprob, wanted, 2e-6 * std::max(1.0, std::abs(wanted)));
    }
    EXPECT_EQ(row.chosen, row.top.back().logprob);
  }
}

// The README's definition, step by step on a fully sorted vocabulary.
std::vector<TokenId> support_by_sorting(const std::vector<float>& logits, const SamplingParams& params) {
  std::vector<TokenId> order(logits.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<TokenId>(i);
  const auto logit = [&](TokenId id) { return static_cast<double>(logits[static_cast<std::size_t>(id)]); };
  std::stable_sort(order.begin(), order.end(), [&](TokenId a, TokenId b) { return logit(a) > logit(b); });
  const double maximum = logit(order[0]);
  const auto weight = [&](TokenId id) { return std::exp((logit(id) - maximum) / params.temperature); };
  std::erase_if(order, [&](TokenId id) { return weight(id) < params.min_p * (1 - 1e-12); });
  if (params.top_k > 0 && static_cast<std::size_t>(params.top_k) < order.size()) {
    order.resize(static_cast<std::size_t>(params.top_k));
  }
  double mass = 0, sum = 0;
  for (const TokenId id : order) mass += weight(id);
  std::size_t kept = 0;
  while (kept < order.size() && (params.top_p >= 1 || sum < params.top_p * mass))
    sum += weight(order[kept++]);
  order.resize(kept);
  std::sort(order.begin(), order.end());
  return order;
}

TEST(Sampling, KeepsTheSameTokensAsSortingTheVocabularyWithManyTies) {
  SamplingScratch scratch;
  Distribution distribution;
  for (const double spread : {0.5, 4.0}) {  // a flat and a steep vocabulary
    std::vector<float> logits;
    const base::RandomStream stream(7, static_cast<std::uint64_t>(spread * 10), base::Purpose::Target);
    for (std::uint32_t i = 0; i < 9000; ++i) {
      logits.push_back(static_cast<float>(std::round(stream.gumbel(i) * spread * 8) / 8));
    }
    for (const std::int64_t top_k : {0, 1, 2, 40, 700, 8999}) {
      for (const double top_p : {0.01, 0.3, 0.77, 0.9991, 1.0}) {
        for (const double min_p : {0.0, 0.011, 1.0}) {
          const SamplingParams params{.temperature = 0.9, .top_k = top_k, .top_p = top_p, .min_p = min_p};
          SCOPED_TRACE(::testing::Message() << spread << " " << top_k << " " << top_p << " " << min_p);
          ASSERT_TRUE(process_logits(logits, params, {}, scratch, distribution).ok());
          if (const Sparse* sparse = std::get_if<Sparse>(&distribution)) {
            EXPECT_EQ(sparse->ids, support_by_sorting(logits, params));
          } else {
            EXPECT_EQ(std::get<Dense>(distribution).weights.size(),
                      support_by_sorting(logits, params).size());
          }
        }
      }
    }
  }
}

TEST(Argmax, TakesTheLowestIdAmongEqualsWhereverTheyStand) {
  for (const std::size_t place : {0u, 1u, 31u, 32u, 33u, 63u, 95u, 99u}) {
    std::vector<float> logits(100, -3.0f);
    for (std::size_t i = place; i < logits.size(); i += 7) logits[i] = 2.5f;
    EXPECT_EQ(*find_argmax(logits), static_cast<TokenId>(place));
  }
}

TEST(Argmax, ReportsLogitsThatNoDistributionFollowsFrom) {
  std::vector<float> logits(70, 1.0f);
  for (const float fault :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const std::size_t place : {0u, 20u, 40u, 69u}) {
      logits.assign(70, 1.0f);
      logits[place] = fault;
      ASSERT_FALSE(find_argmax(logits).ok());
      EXPECT_NE(find_argmax(logits).error().message.find("token " + std::to_string(place)),
                std::string::npos);
    }
  }
  logits.assign(70, -std::numeric_limits<float>::infinity());
  EXPECT_FALSE(find_argmax(logits).ok());
  EXPECT_FALSE(find_argmax({}).ok());
  SamplingScratch scratch;
  Distribution distribution;
  EXPECT_FALSE(process_logits(logits, {.temperature = 1}, {}, scratch, distribution).ok());
}

TEST(TokenHistory, IsAfterAnUndoWhatItWasBefore) {
  const std::vector<TokenId> prompt = {5, 6, 5};
  TokenHistory history(prompt);
  history.append(7);
  history.append(5);
  const auto state = [&] {
    std::vector<std::array<int, 3>> entries;
    for (const auto& entry : history.entries())
      entries.push_back({entry.id, entry.in_prompt, entry.output_count});
    return entries;
  };
  const auto before = state();
  EXPECT_EQ(before, (std::vector<std::array<int, 3>>{{5, 1, 1}, {6, 1, 0}, {7, 0, 1}}));
  history.append(std::vector<TokenId>{7, 9, 6, 9, 8});
  EXPECT_EQ(history.output_count(), 7u);
  history.undo(5);
  EXPECT_EQ(state(), before);
}

TEST(Draw, FollowsTheRunningSumInOrderOfTheIds) {
  const Distribution sparse = Sparse{.ids = {3, 8, 9}, .weights = {1, 0, 3}, .total = 4};
  EXPECT_EQ(draw(sparse, 0.2499), 3);
  EXPECT_EQ(draw(sparse, 0.2501), 9);
  EXPECT_EQ(draw(sparse, 1 - 0x1p-53), 9);
  EXPECT_EQ(draw(Dense{.weights = {0, 2, 2, 0}, .total = 4}, 0x1p-54), 1);
  EXPECT_EQ(draw(OneHot{.id = 4}, 0.3), 4);
}

// Weights from nearly one-hot to nearly flat.
Dense random_weights(std::uint64_t position, std::uint32_t count) {
  const base::RandomStream stream(1, position, base::Purpose::Weights);
  Dense dense;
  for (std::uint32_t id = 0; id < count; ++id) {
    const double spread = static_cast<double>(position % 7);
    const auto weight = static_cast<float>(std::exp(spread * stream.gumbel(id)));
    dense.weights.push_back(weight);
    dense.total += static_cast<double>(weight);
  }
  return dense;
}

TEST(SharedNoise, IsWonByTheLowestTimeOverWeightOfAllTokens) {
  for (std::uint64_t position = 0; position < 300; ++position) {
    const SharedNoise noise(2, position);
    const Dense dense = random_weights(position, 1 + static_cast<std::uint32_t>(position * 3));
    Sparse sparse;
    double best = std::numeric_limits<double>::infinity(), best_sparse = best;
    TokenId wanted = -1, wanted_sparse = -1;
    for (TokenId id = 0; id < static_cast<TokenId>(dense.weights.size()); ++id) {
      const float weight = dense.weights[static_cast<std::size_t>(id)];
      const double score = noise.time_of(id) / static_cast<double>(weight);
      if (score < best) best = score, wanted = id;
      if (id % 5 != 0) continue;
      sparse.ids.push_back(id);
      sparse.weights.push_back(weight);
      if (score < best_sparse) best_sparse = score, wanted_sparse = id;
    }
    EXPECT_EQ(draw_by_shared_noise(dense, noise), wanted);
    EXPECT_EQ(draw_by_shared_noise(sparse, noise), wanted_sparse);
  }
}

// The cell of a time among `cells` equally likely ones, if it is exponential with rate 1.
std::size_t cell_of(double time, int cells) {
  return std::min(static_cast<std::size_t>((1 - std::exp(-time)) * cells),
                  static_cast<std::size_t>(cells - 1));
}

TEST(SharedNoise, GivesIndependentExponentialTimesWithinABlockAndAcross) {
  const std::vector<TokenId> ids = {0, 1, 37, 63, 64, 127, 4000};
  for (std::size_t a = 0; a < ids.size(); ++a) {
    for (std::size_t b = a + 1; b < ids.size(); ++b) {
      std::vector<std::int64_t> counts(64, 0);
      for (std::uint64_t seed = 0; seed < 30'000; ++seed) {
        const SharedNoise noise(seed, 11);
        ++counts[cell_of(noise.time_of(ids[a]), 8) * 8 + cell_of(noise.time_of(ids[b]), 8)];
      }
      EXPECT_LT(chi_square_excess(std::vector<double>(64, 1.0 / 64), counts), 4) << ids[a] << " " << ids[b];
    }
  }
}

TEST(SharedNoise, BoundsTheLowestTimeOfItsBlock) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const SharedNoise noise(seed, 3);
    for (std::int32_t block = 0; block < 3; ++block) {
      double lowest = std::numeric_limits<double>::infinity();
      for (TokenId id = block * 64; id < block * 64 + 64; ++id) lowest = std::min(lowest, noise.time_of(id));
      EXPECT_LE(noise.block_bound(block), lowest);
    }
  }
}

}  // namespace
}  // namespace outrider::decode
