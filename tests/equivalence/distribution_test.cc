// Promise P2 on the whole engine: at temperature > 0 the text has the target's distribution, whatever the
// drafter, its way of drawing and the scheduler. Chi-square of three tokens against exact enumeration of a
// tiny target.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "equivalence/matrix.h"

namespace outrider::testing {
namespace {

constexpr int kRuns = 2500;

struct Case {
  const char* name;
  double temperature;
  std::int64_t top_k;
  double top_p;
  const char* draws;
  double threshold;
  bool scheduled;
};

using Tokens = std::vector<base::TokenId>;

// p of the next token after `tokens`, by the model and decode/ alone.
std::map<base::TokenId, double> next_token(Loaded& loaded, const Tokens& tokens,
                                           const decode::SamplingParams& sampling) {
  engine::Engine& engine = *loaded.engine;
  const auto rows = static_cast<std::int64_t>(tokens.size());
  cache::KvStore store(engine.plan().cache);
  cache::BlockPool pool(engine.plan().cache.block_count);
  cache::BlockTable table(pool, engine.plan().cache.block_tokens);
  OUTRIDER_CHECK(table.reserve(0, rows, store));
  model::Batch batch;
  for (std::int64_t i = 0; i < rows; ++i) batch.add(tokens[static_cast<std::size_t>(i)], i, table.data());
  tensor::Matrix hidden(rows, loaded.target.shape.hidden_width), logits(1, loaded.target.shape.vocabulary);
  auto& model = const_cast<model::Model&>(engine.model());
  model.forward(engine.executor(), batch, store, {}, hidden.view());
  kernels::linear(engine.executor(), hidden.view().row_range(rows - 1, 1), model.head_weights(), {},
                  logits.view());
  decode::SamplingScratch scratch;
  decode::Distribution p;
  OUTRIDER_CHECK(
      decode::process_logits(logits.view().row_span(0), sampling, decode::TokenHistory(tokens), scratch, p)
          .ok());
  std::map<base::TokenId, double> probabilities;
  for (base::TokenId id = 0; id < loaded.target.shape.vocabulary; ++id) {
    if (const double probability = decode::probability_of(p, id); probability > 0)
      probabilities[id] = probability;
  }
  return probabilities;
}

void enumerate(Loaded& loaded, Tokens prefix, std::size_t left, double probability,
               const decode::SamplingParams& sampling, Tokens written, std::map<Tokens, double>& out) {
  if (left == 0) {
    out[written] += probability;
    return;
  }
  for (const auto& [token, share] : next_token(loaded, prefix, sampling)) {
    Tokens longer = prefix, more = written;
    longer.push_back(token);
    more.push_back(token);
    enumerate(loaded, longer, left - 1, probability * share, sampling, more, out);
  }
}

// The chance of a chi-square at least so large (Wilson and Hilferty's normal approximation).
double tail(double chi_square, double degrees) {
  const double z = (std::cbrt(chi_square / degrees) - (1 - 2 / (9 * degrees))) / std::sqrt(2 / (9 * degrees));
  return 0.5 * std::erfc(z / std::sqrt(2.0));
}

class Distribution : public ::testing::TestWithParam<std::tuple<std::string, Case>> {};

TEST_P(Distribution, OfThreeTokensIsTheTargets) {
  const Pair pair{std::get<0>(GetParam())};
  const Case& wanted = std::get<1>(GetParam());
  plan::Intent settings = bf16_settings();
  settings.target.max_num_seqs = 100;
  settings.target.num_kv_blocks = 100 * 3;
  settings.target.max_model_len = 40;
  settings.draft = drafting(4);
  settings.draft->draft_sample_method = wanted.draws;
  settings.draft->confidence_threshold = wanted.threshold;
  Loaded loaded = load(pair.target(), pair.drafter(), settings);
  if (wanted.scheduled) {
    loaded.engine->adapt(
        {.verify = schedule::CostCurve(schedule::CurveShape::Linear, {{1, 1.0}, {500, 6.0}}),
         .draft = schedule::CostCurve(schedule::CurveShape::Linear, {{1, 0.1}, {100, 0.4}})});
  }
  const Tokens prompt = pair.prompts()[0];
  decode::SamplingParams sampling{
      .temperature = wanted.temperature, .top_k = wanted.top_k, .top_p = wanted.top_p};
  std::map<Tokens, double> expected;
  enumerate(loaded, prompt, 3, 1.0, sampling, {}, expected);

  std::map<Tokens, int> seen;
  for (int first = 0; first < kRuns; first += 100) {
    std::vector<engine::Request> requests;
    for (int i = 0; i < 100; ++i) {
      requests.push_back(greedy_request(prompt, 3));
      requests.back().sampling = sampling;
      requests.back().sampling.seed = static_cast<std::uint64_t>(first + i + 1);
    }
    for (const Tokens& tokens : tokens_of(run_all(*loaded.engine, requests))) ++seen[tokens];
  }
  EXPECT_GT(loaded.engine->figures().accepted_tokens, 0);
  EXPECT_GT(loaded.engine->figures().verified_tokens, loaded.engine->figures().accepted_tokens);

  double chi_square = 0, rare_expected = 0;
  int bins = 0, rare_seen = 0;
  for (const auto& [tokens, probability] : expected) {
    const double count = probability * kRuns;
    if (count < 8) {  // rare outcomes count together
      rare_expected += count;
      rare_seen += seen[tokens];
    } else {
      chi_square += (seen[tokens] - count) * (seen[tokens] - count) / count;
      ++bins;
    }
  }
  if (rare_expected >= 1) {
    chi_square += (rare_seen - rare_expected) * (rare_seen - rare_expected) / rare_expected;
    ++bins;
  }
  for (const auto& [tokens, count] : seen) {
    EXPECT_TRUE(count == 0 || expected.contains(tokens)) << "an outcome of probability 0";
  }
  ASSERT_GT(bins, 3);
  EXPECT_GT(tail(chi_square, bins - 1), 1e-3) << "chi-square " << chi_square << " over " << bins << " bins";
}

INSTANTIATE_TEST_SUITE_P(
    Pairs, Distribution,
    ::testing::Combine(::testing::Values("dspark/ds_rnn_g16_moe", "dspark/sp_vanilla_b7_reduced"),
                       ::testing::Values(Case{"cool_greedy_drafts", 0.5, 4, 1, "greedy", 0, false},
                                         Case{"plain_drawn_drafts", 1.0, 4, 1, "probabilistic", 0, false},
                                         Case{"hot_drawn_top_p", 1.5, 6, 0.8, "probabilistic", 0, false},
                                         Case{"drawn_threshold", 1.0, 4, 1, "probabilistic", 0.45, false},
                                         Case{"drawn_scheduled", 1.0, 4, 1, "probabilistic", 0, true},
                                         Case{"greedy_scheduled", 1.0, 4, 0.9, "greedy", 0, true})),
    [](const auto& test) {
      std::string name = std::get<0>(test.param) + "_" + std::get<1>(test.param).name;
      for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
      return name;
    });

}  // namespace
}  // namespace outrider::testing
