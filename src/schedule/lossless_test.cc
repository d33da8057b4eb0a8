// Whether texts keep the target's law when a scheduler says how many drafts are verified: through the real
// sampling, drafting, verification and scheduling, on models small enough to enumerate.
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "decode/toy_model.h"
#include "schedule/draft_governor.h"

namespace outrider::schedule {
namespace {

using namespace decode;

constexpr int kSamples = 7'000;  // batches, of two texts each
constexpr double kChance = 4;    // standard deviations
constexpr double kBiased = 10;

// A valley at one draft: two rows cost twice one row, the rows after that next to nothing.
const CostCurve kValley(CurveShape::Linear, {{2, 1.0}, {3, 1.9}, {4, 2.0}, {12, 2.1}});

// Two texts at once, whose drafts compete for rows. `choose(curves, ids)` gives the lengths.
template <class Choose>
void generate_pair(const ToyRun& run, std::uint64_t seed, Choose&& choose, std::array<Text, 2>& texts) {
  const std::size_t wanted = kToyPrompt.size() + static_cast<std::size_t>(run.length);
  texts = {kToyPrompt, kToyPrompt};
  VerifyScratch scratch;
  for (;;) {
    std::vector<std::size_t> alive;
    for (std::size_t i = 0; i < 2; ++i) {
      if (texts[i].size() < wanted) alive.push_back(i);
    }
    if (alive.empty()) break;
    std::vector<Proposal> proposals;
    std::vector<SurvivalCurve> curves;
    std::vector<base::SequenceId> ids;
    for (const std::size_t i : alive) {
      proposals.push_back(propose(run, texts[i], seed * 2 + i));
      curves.push_back(derive_survival(proposals.back().confidences));
      ids.push_back(base::SequenceId{i});
    }
    const std::vector<int> lengths = choose(curves, ids);
    for (std::size_t i = 0; i < alive.size(); ++i) {
      verify_and_commit(run, proposals[i], lengths[i], seed * 2 + alive[i], scratch, texts[alive[i]]);
    }
  }
  for (Text& text : texts) text.resize(wanted);
}

// `make_choose()` gives a new scheduler for each pair.
template <class MakeChoose>
double pair_excess(const ToyRun& run, MakeChoose&& make_choose, int samples = kSamples) {
  const std::vector<double> law = enumerate_law(run.target, run.params, run.length);
  std::vector<std::int64_t> counts(law.size(), 0);
  std::array<Text, 2> texts;
  for (int i = 0; i < samples; ++i) {
    generate_pair(run, static_cast<std::uint64_t>(i), make_choose(), texts);
    for (const Text& text : texts) ++counts[number_of(text, run.target.vocabulary)];
  }
  return chi_square_excess(law, counts);
}

using Curves = std::vector<SurvivalCurve>;
using Ids = std::vector<base::SequenceId>;

auto early_stop() {
  return
      [](const Curves& curves, const Ids&) { return plan_lengths_early_stop(curves, {.verify = kValley}); };
}
auto early_stop_without_valley() {
  return [](const Curves& curves, const Ids&) {
    static const CostCurve kCurve(CurveShape::Linear, {{1, 1.0}, {8, 3.5}});
    return plan_lengths_early_stop(curves, {.verify = kCurve});
  };
}
auto top_two() {
  return [](const Curves& curves, const Ids&) { return plan_lengths_top(curves, 2); };
}
auto argmax() {
  return [](const Curves& curves, const Ids&) { return plan_lengths_argmax(curves, {.verify = kValley}); };
}
// The delayed form; the curves of two steps ago.
auto delayed(int delay) {
  return [memory = SurvivalDelay(delay)](const Curves& curves, const Ids& ids) mutable {
    std::vector<int> lengths;
    for (const SurvivalCurve& curve : curves) lengths.push_back(static_cast<int>(curve.size()));
    const Curves earlier = memory.earlier(ids, lengths);
    memory.push(ids, curves);
    return plan_lengths_delayed(earlier, curves, {.verify = kValley});
  };
}

std::vector<SamplingParams> sampling_cases() {
  std::vector<SamplingParams> cases;
  for (const double temperature : {0.5, 1.0, 1.5}) {
    cases.push_back({.temperature = temperature});
    cases.push_back({.temperature = temperature, .top_k = 3, .top_p = 0.9});
  }
  return cases;
}

ToyRun toy_run(const SamplingParams& params, DraftSampleMethod draft) {
  return {.target = ToyModel(1),
          .drafter = ToyModel(5),
          .params = params,
          .draft_method = draft,
          .with_confidences = true};
}

TEST(Lossless, KeepsTheTargetsLawWithEverySchedulerThatLooksNowhereAhead) {
  for (const SamplingParams& params : sampling_cases()) {
    for (const DraftSampleMethod draft : {DraftSampleMethod::Probabilistic, DraftSampleMethod::Greedy}) {
      const ToyRun run = toy_run(params, draft);
      SCOPED_TRACE(::testing::Message() << params.temperature << " " << params.top_k << " "
                                        << (draft == DraftSampleMethod::Greedy ? "greedy" : "sampled"));
      EXPECT_LT(pair_excess(run, [] { return early_stop(); }), kChance);
      EXPECT_LT(pair_excess(run, [] { return early_stop_without_valley(); }), kChance);
      EXPECT_LT(pair_excess(run, [] { return top_two(); }), kChance);
      EXPECT_LT(pair_excess(run, [] { return delayed(2); }), kChance);
    }
  }
}

TEST(Lossless, LosesTheTargetsLawWithTheArgmaxOverSampledDrafts) {
  const ToyRun run = toy_run({.temperature = 1}, DraftSampleMethod::Probabilistic);
  const double excess = pair_excess(
      run, [] { return argmax(); }, 3 * kSamples);
  EXPECT_GT(excess, kBiased);
}

TEST(Lossless, KeepsItWithTheArgmaxOverGreedyDraftsAndDrafterInvariantAcceptance) {
  for (const SamplingParams& params : sampling_cases()) {
    EXPECT_LT(pair_excess(toy_run(params, DraftSampleMethod::Greedy), [] { return argmax(); }), kChance);
    ToyRun run = toy_run(params, DraftSampleMethod::Probabilistic);
    run.rules.method = AcceptMethod::DrafterInvariant;
    EXPECT_LT(pair_excess(run, [] { return argmax(); }), kChance);
  }
}

TEST(Lossless, GivesTheSameDrafterInvariantTextWithEveryScheduler) {
  ToyRun run = toy_run({.temperature = 1}, DraftSampleMethod::Probabilistic);
  run.rules.method = AcceptMethod::DrafterInvariant;
  run.length = 20;
  const auto none = [](const Curves& curves, const Ids&) { return std::vector<int>(curves.size(), 0); };
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::array<Text, 2> plain, other;
    generate_pair(run, seed, none, plain);
    generate_pair(run, seed, early_stop(), other);
    EXPECT_EQ(other, plain);
    generate_pair(run, seed, argmax(), other);
    EXPECT_EQ(other, plain);
    generate_pair(run, seed, delayed(2), other);
    EXPECT_EQ(other, plain);
  }
}

// Appendix A of the DSpark paper (arXiv 2607.05147): two tokens, target (0.7, 0.3), drafter (0.5, 0.5), so
// that the first draft is accepted with 0.8; steps per second 1, 0.5, 0.45. The second confidence is 1 after
// the first token and 0 after the other.
std::array<double, 2> example_shares(bool stops_early) {
  const CostCurve curve(CurveShape::Linear, {{1, 1.0}, {2, 2.0}, {3, 1 / 0.45}});
  const std::vector<float> target = {std::log(0.7f), std::log(0.3f)}, drafter = {0, 0};
  constexpr int kRounds = 40'000;
  std::array<int, 2> counts = {0, 0};
  VerifyScratch scratch;
  TokenHistory history;
  for (std::uint64_t seed = 0; seed < kRounds; ++seed) {
    Proposal proposal;
    for (int slot = 0; slot < 2; ++slot) {
      Distribution q;
      const DraftRules rules{.method = DraftSampleMethod::Probabilistic, .temperature = 1, .seed = seed};
      proposal.tokens.push_back(*sample_draft(drafter, {}, rules, {.position = 5 + slot, .slot = slot}, q));
      proposal.q.push_back(q);
    }
    proposal.confidences = {0.8f, proposal.tokens[0] == 0 ? 1.0f : 0.0f};
    const std::vector<SurvivalCurve> curves = {derive_survival(proposal.confidences)};
    const VerifyCosts costs{.verify = curve};
    const int length =
        (stops_early ? plan_lengths_early_stop(curves, costs) : plan_lengths_argmax(curves, costs))[0];
    std::vector<float> logits;
    for (int row = 0; row <= length; ++row) logits.insert(logits.end(), target.begin(), target.end());
    const SamplingParams params{.temperature = 1, .seed = seed};
    const tensor::MatrixView<const float> rows(logits.data(), length + 1, 2);
    const auto verdict = run_verify(
        {}, {.logits = rows, .proposal = proposal, .params = params, .position = 5}, history, scratch);
    ++counts[static_cast<std::size_t>(verdict->accepted_count > 0 ? proposal.tokens[0]
                                                                  : verdict->next_token)];
  }
  return {counts[0] / double{kRounds}, counts[1] / double{kRounds}};
}

TEST(Lossless, ReproducesThePapersBiasOfTheArgmaxAndItsCure) {
  const double sigma = std::sqrt(0.85 * 0.15 / 40'000);
  EXPECT_NEAR(example_shares(false)[0], 0.85, 4 * sigma);
  EXPECT_NEAR(example_shares(true)[0], 0.70, 6 * sigma);
}

// Verifies all drafts or none, by the third confidence of the step before: the worst that may be made of an
// earlier step.
auto by_the_step_before() {
  return [known = std::map<base::SequenceId, double>()](const Curves& curves, const Ids& ids) mutable {
    std::vector<int> lengths;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const double third = curves[i][2] / curves[i][1];
      const auto [place, is_first] = known.try_emplace(ids[i], third);
      lengths.push_back(!is_first && place->second > 0.7 ? 3 : 0);
      place->second = third;
    }
    return lengths;
  };
}

// Why the slot keys a drafter's noise (draft_sampling.h): without it the draft of an earlier step, on which
// that confidence depends, comes from the very noise that today's draft at the position comes from.
TEST(Lossless, NeedsFreshNoiseForAPositionThatIsDraftedAgain) {
  ToyRun run = toy_run({.temperature = 1}, DraftSampleMethod::Probabilistic);
  EXPECT_LT(pair_excess(
                run, [] { return by_the_step_before(); }, 6 * kSamples),
            kChance);
  run.slot_in_key = false;
  EXPECT_GT(pair_excess(
                run, [] { return by_the_step_before(); }, 6 * kSamples),
            kBiased);
}

TEST(Lossless, KeepsTheTargetsLawWhenTheGovernorSaysHowManyToDraft) {
  const StepCosts costs{.verify = CostCurve(CurveShape::Linear, {{1, 1.0}, {8, 2.0}}),
                        .draft = CostCurve(CurveShape::Linear, {{1, 0.2}})};
  for (const DraftSampleMethod draft : {DraftSampleMethod::Probabilistic, DraftSampleMethod::Greedy}) {
    const ToyRun run = toy_run({.temperature = 1}, draft);
    DraftGovernor governor(costs, {});
    const std::vector<double> law = enumerate_law(run.target, run.params, run.length);
    std::vector<std::int64_t> counts(law.size(), 0);
    VerifyScratch scratch;
    for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
      Text text = kToyPrompt;
      while (text.size() < kToyPrompt.size() + static_cast<std::size_t>(run.length)) {
        ToyRun round = run;
        const std::vector<DraftGovernor::Request> requests = {{.id = base::SequenceId{1}, .draft_max = 3}};
        round.draft_count = governor.plan_drafts(requests, 0)[0];
        const Proposal proposal = propose(round, text, seed);
        governor.observe(base::SequenceId{1}, round.draft_count,
                         verify_and_commit(round, proposal, round.draft_count, seed, scratch, text));
      }
      text.resize(kToyPrompt.size() + static_cast<std::size_t>(run.length));
      ++counts[number_of(text, run.target.vocabulary)];
    }
    EXPECT_LT(chi_square_excess(law, counts), kChance);
  }
}

}  // namespace
}  // namespace outrider::schedule
