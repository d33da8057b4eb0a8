#include "decode/verify.h"

#include <gtest/gtest.h>

#include <limits>

#include "decode/toy_model.h"

namespace outrider::decode {
namespace {

using base::TokenId;

// Rows of logits whose argmax is the given token.
std::vector<float> rows_of(const std::vector<TokenId>& best, int vocabulary = 8) {
  std::vector<float> logits(best.size() * static_cast<std::size_t>(vocabulary), 0.0f);
  for (std::size_t i = 0; i < best.size(); ++i)
    logits[i * static_cast<std::size_t>(vocabulary) + static_cast<std::size_t>(best[i])] = 3;
  return logits;
}

Proposal one_hot_proposal(const std::vector<TokenId>& tokens) {
  Proposal proposal{.tokens = tokens, .q = {}, .confidences = {}};
  for (const TokenId token : tokens) proposal.q.push_back(OneHot{.id = token});
  return proposal;
}

struct Case {
  std::vector<TokenId> drafts, targets;  // targets: argmax of each row, one more than drafts run
  SamplingParams params = {};
  AcceptRules rules = {};
};

base::Result<Verdict, base::Error> judge(const Case& one, std::vector<float> logits = {},
                                         TokenHistory history = {}) {
  if (logits.empty()) logits = rows_of(one.targets);
  VerifyScratch scratch;
  const tensor::MatrixView<const float> rows(logits.data(), static_cast<std::int64_t>(one.targets.size()), 8);
  const Proposal proposal = one_hot_proposal(one.drafts);
  const std::size_t before = history.output_count();
  auto verdict =
      run_verify(one.rules, {.logits = rows, .proposal = proposal, .params = one.params, .position = 100},
                 history, scratch);
  EXPECT_EQ(history.output_count(), before);
  return verdict;
}

TEST(Verify, RejectsAtTheFirstMismatchAndTakesTheTargetsToken) {
  for (const AcceptMethod method : {AcceptMethod::Standard, AcceptMethod::DrafterInvariant}) {
    const AcceptRules rules{.method = method};
    EXPECT_EQ(*judge({{1, 2, 3}, {1, 2, 3, 4}, {}, rules}), (Verdict{3, 4}));
    EXPECT_EQ(*judge({{1, 2, 3}, {1, 5, 3, 4}, {}, rules}), (Verdict{1, 5}));
    EXPECT_EQ(*judge({{1, 2, 3}, {0, 2, 3, 4}, {}, rules}), (Verdict{0, 0}));
    EXPECT_EQ(*judge({{}, {6}, {}, rules}), (Verdict{0, 6}));
  }
}

TEST(Verify, TakesTheTargetsTokenAfterARunThatWasCutShort) {
  EXPECT_EQ(*judge({{1, 2, 3}, {1, 2}}), (Verdict{1, 2}));
  EXPECT_EQ(*judge({{1, 2, 3}, {7}}), (Verdict{0, 7}));
}

TEST(Verify, CountsAcceptedDraftsAsOutputForPenalties) {
  // Every row prefers 1, and slightly less 2. With a strong presence penalty the row after an accepted 1 must
  // prefer 2, and after both something else.
  std::vector<float> logits(4 * 8, 0.0f);
  for (std::size_t row = 0; row < 4; ++row) logits[row * 8 + 1] = 1.5f, logits[row * 8 + 2] = 1.0f;
  const SamplingParams params{.presence_penalty = 2};
  EXPECT_EQ(*judge({{1, 2, 0}, {0, 0, 0, 0}, params}, logits), (Verdict{3, 3}));
  EXPECT_EQ(*judge({{1, 1, 0}, {0, 0, 0, 0}, params}, logits), (Verdict{1, 2}));
  TokenHistory history;
  history.append(1);
  EXPECT_EQ(*judge({{1, 2, 0}, {0, 0, 0, 0}, params}, logits, history), (Verdict{0, 2}));
}

TEST(Verify, ReportsAFaultyRowWithItsPositionUnlessItIsNeverRead) {
  std::vector<float> logits = rows_of({1, 2, 3});
  logits[2 * 8 + 4] = std::numeric_limits<float>::quiet_NaN();
  const auto faulty = judge({{1, 2}, {0, 0, 0}, {.temperature = 0}}, logits);
  ASSERT_FALSE(faulty.ok());
  EXPECT_NE(faulty.error().message.find("position 102"), std::string::npos) << faulty.error().message;
  EXPECT_EQ(*judge({{1, 5}, {0, 0, 0}}, logits), (Verdict{1, 2}));
}

TEST(Verify, ForcesSyntheticRatesWhateverTheLogits) {
  const AcceptRules rules{.method = AcceptMethod::Synthetic, .synthetic_rates = {0.8, 0.5, 0.0}};
  std::vector<int> counts(4, 0);
  constexpr int kRounds = 20'000;
  for (std::uint64_t seed = 0; seed < kRounds; ++seed) {
    const auto verdict = judge({{1, 2, 3}, {7, 6, 5, 4}, {.seed = seed}, rules});
    EXPECT_EQ(verdict->next_token, 7 - verdict->accepted_count);
    for (int i = 0; i <= verdict->accepted_count; ++i) ++counts[static_cast<std::size_t>(i)];
  }
  EXPECT_NEAR(counts[1], 0.8 * kRounds, 4 * std::sqrt(0.16 * kRounds));
  EXPECT_NEAR(counts[2], 0.5 * kRounds, 4 * std::sqrt(0.25 * kRounds));
  EXPECT_EQ(counts[3], 0);
}

TEST(Verify, GreedyTextIsTheSameWithAnyDrafterAndAnyCut) {
  for (const SamplingParams& params :
       {SamplingParams{}, SamplingParams{.repetition_penalty = 1.3, .frequency_penalty = 0.4}}) {
    ToyRun run{.target = ToyModel(3, 12), .drafter = ToyModel(3, 12), .params = params, .length = 40};
    run.draft_count = 0;
    const Text plain = generate(run, 0, [](const Proposal&) { return 0; });
    for (const std::uint64_t drafter_seed : {3, 4, 5}) {
      run.drafter = ToyModel(drafter_seed, 12);
      for (run.draft_count = 0; run.draft_count <= 10; ++run.draft_count) {
        for (int cut = 0; cut <= run.draft_count; ++cut) {
          EXPECT_EQ(generate(run, 0, [cut](const Proposal&) { return cut; }), plain);
        }
      }
    }
  }
}

TEST(Verify, DrafterInvariantTextIsTheSameForASeedWithAnyDrafterAndNone) {
  for (const SamplingParams& params :
       {SamplingParams{.temperature = 1}, SamplingParams{.temperature = 0.7, .top_k = 5, .top_p = 0.9},
        SamplingParams{.temperature = 1.4, .presence_penalty = 0.8}}) {
    ToyRun run{.target = ToyModel(3, 12),
               .drafter = ToyModel(3, 12),
               .params = params,
               .rules = {.method = AcceptMethod::DrafterInvariant},
               .length = 30};
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      run.draft_count = 0;
      const Text plain = generate(run, seed, [](const Proposal&) { return 0; });
      for (const std::uint64_t drafter_seed : {3, 4}) {
        run.drafter = ToyModel(drafter_seed, 12);
        for (const DraftSampleMethod method : {DraftSampleMethod::Greedy, DraftSampleMethod::Probabilistic}) {
          run.draft_method = method;
          for (run.draft_count = 1; run.draft_count <= 4; ++run.draft_count) {
            for (int cut = 0; cut <= run.draft_count; ++cut) {
              EXPECT_EQ(generate(run, seed, [cut](const Proposal&) { return cut; }), plain);
            }
          }
        }
      }
    }
  }
}

TEST(Verify, ADrafterEqualToTheTargetIsAlwaysAccepted) {
  for (const AcceptMethod method : {AcceptMethod::Standard, AcceptMethod::DrafterInvariant}) {
    const ToyRun run{
        .target = ToyModel(3, 12), .drafter = ToyModel(3, 12), .rules = {.method = method}, .draft_count = 5};
    VerifyScratch scratch;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      Text text = kToyPrompt;
      EXPECT_EQ(verify_and_commit(run, propose(run, text, seed), 5, seed, scratch, text), 5);
    }
  }
}

TEST(SampleDraft, MapsAReducedVocabularyToTheTargetsIds) {
  const std::vector<float> logits = {0.5f, 2.0f, 1.0f};
  const DraftPlace place{.position = 9, .slot = 1};
  Distribution q;
  EXPECT_EQ(*sample_draft(logits, std::vector<TokenId>{10, 20, 30}, {}, place, q), 20);
  EXPECT_EQ(std::get<OneHot>(q).id, 20);
  const DraftRules sampled{.method = DraftSampleMethod::Probabilistic, .temperature = 1, .seed = 4};
  for (const std::vector<TokenId>& ids :
       {std::vector<TokenId>{10, 20, 30}, std::vector<TokenId>{30, 10, 20}}) {
    ASSERT_TRUE(sample_draft(logits, ids, sampled, place, q).ok());
    EXPECT_EQ(std::get<Sparse>(q).ids, (std::vector<TokenId>{10, 20, 30}));
    const double total = std::exp(0.5) + std::exp(2) + std::exp(1);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(probability_of(q, ids[i]), std::exp(static_cast<double>(logits[i])) / total, 1e-6);
    }
  }
  ASSERT_TRUE(sample_draft(logits, std::vector<TokenId>{10, 20, 10}, sampled, place, q).ok());
  EXPECT_NEAR(probability_of(q, 20), std::exp(2) / (std::exp(0.5) + std::exp(2) + std::exp(1)), 1e-6);
}

TEST(SampleDraft, DrawsFromTheQThatItReports) {
  const ToyModel drafter(8, 6);
  const std::span<const float> logits = drafter.logits(kToyPrompt);
  for (const AcceptMethod accept : {AcceptMethod::Standard, AcceptMethod::DrafterInvariant}) {
    Distribution q;
    std::vector<std::int64_t> counts(6, 0);
    for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
      const DraftRules rules{
          .method = DraftSampleMethod::Probabilistic, .accept = accept, .temperature = 0.8, .seed = seed};
      ++counts[static_cast<std::size_t>(*sample_draft(logits, {}, rules, {.position = 3, .slot = 0}, q))];
    }
    std::vector<double> law;
    for (TokenId id = 0; id < 6; ++id) law.push_back(probability_of(q, id));
    EXPECT_LT(chi_square_excess(law, counts), 4);
  }
}

TEST(SampleDraft, ReportsFaultyLogits) {
  const std::vector<float> logits = {0.5f, std::numeric_limits<float>::quiet_NaN()};
  Distribution q;
  EXPECT_FALSE(sample_draft(logits, {}, {}, {.position = 0, .slot = 0}, q).ok());
  const DraftRules sampled{.method = DraftSampleMethod::Probabilistic, .temperature = 1};
  EXPECT_FALSE(sample_draft(logits, std::vector<TokenId>{1, 2}, sampled, {.position = 0, .slot = 0}, q).ok());
}

TEST(CutByConfidence, StopsAtTheFirstBelowTheThreshold) {
  const std::vector<float> confidences = {0.9f, 0.5f, 0.7f, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_EQ(cut_by_confidence(confidences, 0), 4u);
  EXPECT_EQ(cut_by_confidence(confidences, -1), 4u);
  EXPECT_EQ(cut_by_confidence(confidences, 0.95), 0u);
  EXPECT_EQ(cut_by_confidence(confidences, 0.6), 1u);
  EXPECT_EQ(cut_by_confidence(confidences, 0.5), 3u);
  EXPECT_EQ(cut_by_confidence(confidences, 0.1), 3u);
}

TEST(AcceptMethod, ReadsTheNamesItWritesAndRefusesOthers) {
  for (const AcceptMethod method :
       {AcceptMethod::Standard, AcceptMethod::DrafterInvariant, AcceptMethod::Synthetic}) {
    EXPECT_EQ(*parse_accept_method(name_of(method), "x"), method);
  }
  EXPECT_FALSE(parse_accept_method("strict", "rejection_sample_method").ok());
  EXPECT_EQ(*parse_draft_sample_method("probabilistic", "x"), DraftSampleMethod::Probabilistic);
  EXPECT_FALSE(parse_draft_sample_method("Greedy", "x").ok());
}

}  // namespace
}  // namespace outrider::decode
