// Promise P1: the text is the same bytes with and without any drafter, for every N, truncation, rejection
// pattern, chunk, block size, batch mix and thread count. Greedy; and sampled with drafter-invariant
// verification, where a seed fixes the text.
#include <gtest/gtest.h>

#include "equivalence/matrix.h"

namespace outrider::testing {
namespace {

struct Way {
  const char* name;
  double temperature;
  const char* accept;
};

class Lossless : public ::testing::TestWithParam<std::tuple<std::string, kernels::Target, Way>> {
 protected:
  Pair pair() const { return {std::get<0>(GetParam())}; }
  Way way() const { return std::get<2>(GetParam()); }

  plan::Intent settings() const {
    plan::Intent settings = bf16_settings();
    settings.target.kernel_target = kernels::name_of(std::get<1>(GetParam()));
    settings.target.rejection_sample_method = way().accept;
    return settings;
  }
  plan::Intent with_drafts(int drafts) const {
    plan::Intent made = settings();
    made.draft = drafting(drafts);
    made.draft->rejection_sample_method = way().accept;
    made.draft->draft_sample_method = way().temperature > 0 ? "probabilistic" : "greedy";
    return made;
  }
  std::vector<engine::Request> requests() const {
    std::vector<engine::Request> made;
    for (const auto& prompt : pair().prompts()) {
      made.push_back(greedy_request(prompt, 40));
      made.back().sampling.temperature = way().temperature;
      made.back().sampling.top_k = way().temperature > 0 ? 30 : 0;
      made.back().sampling.seed = 17 + made.size();
    }
    return made;
  }
  std::vector<std::vector<base::TokenId>> run(const plan::Intent& settings, unsigned spoil_seed = 0) const {
    Loaded loaded = load(pair().target(), pair().drafter(), settings);
    if (spoil_seed != 0)
      loaded.engine->on_proposal = spoil(spoil_seed, static_cast<int>(loaded.target.shape.vocabulary));
    return tokens_of(run_all(*loaded.engine, requests()));
  }
};

TEST_P(Lossless, EveryNumberOfDraftsGivesTheTextOfNone) {
  const auto plain = run(settings());
  for (int drafts = 0; drafts <= 10; ++drafts)
    EXPECT_EQ(run(with_drafts(drafts)), plain) << drafts << " drafts";
}

TEST_P(Lossless, QuantisedWeightsOfEitherSideChangeNothing) {
  for (const char* format : {"int8", "int4"}) {
    plan::Intent alone = settings(), drafting = with_drafts(5);
    alone.target.quantization = drafting.target.quantization = format;
    drafting.draft->quantization = format;
    EXPECT_EQ(run(drafting), run(alone)) << format;
  }
}

TEST_P(Lossless, EveryTruncationAndRejectionGivesTheTextOfNone) {
  const auto plain = run(settings());
  for (unsigned seed = 1; seed <= 12; ++seed)
    EXPECT_EQ(run(with_drafts(7), seed), plain) << "spoilt with seed " << seed;
}

TEST_P(Lossless, ChunksBlocksThreadsAndBatchesChangeNothing) {
  const auto plain = run(settings());
  for (const std::int64_t rows : {1, 3, 16, 61}) {
    for (const int block : {1, 5, 32}) {
      plan::Intent changed = with_drafts(6);
      changed.target.max_num_batched_tokens = rows;
      changed.target.block_size = block;
      changed.target.num_threads = 1 + static_cast<int>(rows) % 3;
      changed.target.max_num_seqs = 1 + static_cast<int>(rows) % 3;
      EXPECT_EQ(run(changed, static_cast<unsigned>(block)), plain) << rows << " rows, blocks of " << block;
    }
  }
}

// Costs that make some lengths pay and others not, whatever the machine.
schedule::StepCosts rigged_costs(double per_row) {
  return {.verify = schedule::CostCurve(schedule::CurveShape::Linear, {{1, 1.0}, {11, 1.0 + 10 * per_row}}),
          .draft = schedule::CostCurve(schedule::CurveShape::Linear, {{1, 0.3}})};
}

TEST_P(Lossless, TheSchedulerChangesNothing) {
  const auto plain = run(settings());
  std::int64_t counts = 0;
  for (const double per_row : {0.01, 0.2, 0.6}) {
    Loaded loaded = load(pair().target(), pair().drafter(), with_drafts(10));
    loaded.engine->adapt(rigged_costs(per_row));
    EXPECT_EQ(tokens_of(run_all(*loaded.engine, requests())), plain) << per_row;
    EXPECT_LT(loaded.engine->figures().verified_tokens, 10 * loaded.engine->figures().steps * 3);
    counts += loaded.engine->figures().verified_tokens;
  }
  EXPECT_GT(counts, 0);
}

TEST_P(Lossless, PreemptedSequencesWriteTheSameText) {
  const auto plain = run(settings());
  plan::Intent changed = with_drafts(6);
  changed.target.block_size = 8;
  changed.target.num_kv_blocks = 21;  // one sequence fits, three do not
  EXPECT_EQ(run(changed), plain);
}

INSTANTIATE_TEST_SUITE_P(Pairs, Lossless,
                         ::testing::Combine(::testing::ValuesIn(drafter_cases()),
                                            ::testing::Values(kernels::best_target()),
                                            ::testing::Values(Way{"greedy", 0, "standard"},
                                                              Way{"sampled", 1.0, "drafter_invariant"})),
                         [](const auto& test) {
                           std::string name = std::get<0>(test.param) + "_" +
                                              std::string(kernels::name_of(std::get<1>(test.param))) + "_" +
                                              std::get<2>(test.param).name;
                           for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

// The other targets once, with the pair that has most in it.
INSTANTIATE_TEST_SUITE_P(Targets, Lossless,
                         ::testing::Combine(::testing::Values("dspark/ds_rnn_g16_moe"),
                                            ::testing::ValuesIn(kernels::available_targets()),
                                            ::testing::Values(Way{"greedy", 0, "standard"})),
                         [](const auto& test) {
                           return std::string(kernels::name_of(std::get<1>(test.param)));
                         });

TEST(LosslessNgram, PromptLookupGivesTheTextOfNone) {
  const Pair pair{"dspark/ds_vanilla_g7"};
  const auto run = [&](const plan::Intent& settings) {
    Loaded loaded = load(pair.target(), "", settings);
    std::vector<engine::Request> requests;
    for (auto prompt : pair.prompts()) {
      const auto once = prompt;
      prompt.insert(prompt.end(), once.begin(), once.end());  // something to look up
      requests.push_back(greedy_request(prompt, 30));
    }
    const auto outputs = run_all(*loaded.engine, requests);
    if (settings.draft) {
      EXPECT_GT(loaded.engine->figures().accepted_tokens, 0);
    }
    return tokens_of(outputs);
  };
  plan::Intent settings = bf16_settings();
  const auto plain = run(settings);
  for (const int drafts : {1, 4, 9}) {
    settings.draft = drafting(drafts);
    settings.draft->method = "ngram";
    EXPECT_EQ(run(settings), plain) << drafts;
  }
}

}  // namespace
}  // namespace outrider::testing
