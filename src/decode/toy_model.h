// For tests: a target and a drafter small enough that the law of whole texts can be enumerated, run through
// the real sampling and verification, and the chi-square that compares the two.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/random.h"
#include "decode/draft_sampling.h"
#include "decode/verify.h"

namespace outrider::decode {

using Text = std::vector<base::TokenId>;

// Logits that depend on the last two tokens, as random as the seed.
class ToyModel {
 public:
  explicit ToyModel(std::uint64_t seed, int vocabulary_size = 4) : vocabulary(vocabulary_size) {
    const auto contexts = static_cast<std::uint64_t>(vocabulary * vocabulary);
    for (std::uint64_t context = 0; context < contexts; ++context) {
      const base::RandomStream stream(seed, context, base::Purpose::Weights);
      for (int id = 0; id < vocabulary; ++id) {
        table_.push_back(static_cast<float>(stream.gumbel(static_cast<std::uint32_t>(id))));
      }
    }
  }

  std::span<const float> logits(const Text& text) const {
    const auto context = static_cast<std::size_t>(text[text.size() - 2] * vocabulary + text.back());
    const auto width = static_cast<std::size_t>(vocabulary);
    return {table_.data() + context * width, width};
  }

  int vocabulary;

 private:
  std::vector<float> table_;
};

inline const Text kToyPrompt = {1, 2};

inline TokenHistory history_of(const Text& text, const SamplingParams& params) {
  if (!reads_history(params)) return {};
  TokenHistory history(kToyPrompt);
  for (std::size_t i = kToyPrompt.size(); i < text.size(); ++i) history.append(text[i]);
  return history;
}

inline Distribution target_after(const ToyModel& target, const SamplingParams& params, const Text& text) {
  SamplingScratch scratch;
  Distribution p;
  OUTRIDER_CHECK(process_logits(target.logits(text), params, history_of(text, params), scratch, p).ok());
  return p;
}

// The probability of every text of `length` tokens after the prompt; texts are numbered in base `vocabulary`,
// first token highest.
inline std::vector<double> enumerate_law(const ToyModel& target, const SamplingParams& params, int length) {
  std::vector<double> law;
  const std::function<void(Text&, double)> visit = [&](Text& text, double probability) {
    if (static_cast<int>(text.size() - kToyPrompt.size()) == length) {
      law.push_back(probability);
      return;
    }
    const Distribution p = target_after(target, params, text);
    for (base::TokenId id = 0; id < target.vocabulary; ++id) {
      text.push_back(id);
      visit(text, probability * probability_of(p, id));
      text.pop_back();
    }
  };
  Text text = kToyPrompt;
  visit(text, 1);
  return law;
}

inline std::size_t number_of(const Text& text, int vocabulary) {
  std::size_t number = 0;
  for (std::size_t i = kToyPrompt.size(); i < text.size(); ++i) {
    number = number * static_cast<std::size_t>(vocabulary) + static_cast<std::size_t>(text[i]);
  }
  return number;
}

// How texts are made: everything that may vary while their law must not.
struct ToyRun {
  ToyModel target, drafter;
  SamplingParams params = {.temperature = 1};
  AcceptRules rules = {};
  DraftSampleMethod draft_method = DraftSampleMethod::Probabilistic;
  int draft_count = 3;
  int length = 3;
  bool with_confidences = false;
  bool slot_in_key =
      true;  // false: the drafter's noise is keyed by position alone, for a test of why it is not
};

// 1 - TV: the chance that a draft drawn from q is accepted by the
// ratio test.
inline double overlap(const Distribution& p, const Distribution& q, int vocabulary) {
  double sum = 0;
  for (base::TokenId id = 0; id < vocabulary; ++id)
    sum += std::min(probability_of(p, id), probability_of(q, id));
  return sum;
}

inline Proposal propose(const ToyRun& run, const Text& text, std::uint64_t seed) {
  Proposal proposal;
  Text longer = text;
  const DraftRules rules{.method = run.draft_method,
                         .accept = run.rules.method,
                         .temperature = run.params.temperature,
                         .seed = seed};
  for (int slot = 0; slot < run.draft_count; ++slot) {
    const DraftPlace place{.position = static_cast<std::int64_t>(longer.size()),
                           .slot = run.slot_in_key ? slot : 0};
    Distribution q;
    const auto token = sample_draft(run.drafter.logits(longer), {}, rules, place, q);
    OUTRIDER_CHECK(token.ok());
    if (run.with_confidences) {
      const double chance = overlap(target_after(run.target, run.params, longer), q, run.target.vocabulary);
      proposal.confidences.push_back(static_cast<float>(chance));
    }
    proposal.tokens.push_back(*token);
    proposal.q.push_back(std::move(q));
    longer.push_back(*token);
  }
  return proposal;
}

// Judges the first `verified` drafts and commits what stands. Returns how many stood.
inline int verify_and_commit(const ToyRun& run, const Proposal& proposal, int verified, std::uint64_t seed,
                             VerifyScratch& scratch, Text& text) {
  std::vector<float> logits;
  Text longer = text;
  for (int row = 0; row <= verified; ++row) {
    const std::span<const float> one = run.target.logits(longer);
    logits.insert(logits.end(), one.begin(), one.end());
    if (row < verified) longer.push_back(proposal.tokens[static_cast<std::size_t>(row)]);
  }
  SamplingParams params = run.params;
  params.seed = seed;
  TokenHistory history = history_of(text, params);
  const tensor::MatrixView<const float> rows(logits.data(), verified + 1, run.target.vocabulary);
  const VerifyInput input{.logits = rows,
                          .proposal = proposal,
                          .params = params,
                          .position = static_cast<std::int64_t>(text.size())};
  const auto verdict = run_verify(run.rules, input, history, scratch);
  OUTRIDER_CHECK(verdict.ok());
  for (int i = 0; i < verdict->accepted_count; ++i)
    text.push_back(proposal.tokens[static_cast<std::size_t>(i)]);
  text.push_back(verdict->next_token);
  return verdict->accepted_count;
}

// One text; `choose` says how many drafts of a proposal are verified.
template <class Choose>
Text generate(const ToyRun& run, std::uint64_t seed, Choose&& choose) {
  const std::size_t wanted = kToyPrompt.size() + static_cast<std::size_t>(run.length);
  Text text = kToyPrompt;
  VerifyScratch scratch;
  while (text.size() < wanted) {
    const Proposal proposal = propose(run, text, seed);
    verify_and_commit(run, proposal, choose(proposal), seed, scratch, text);
  }
  text.resize(wanted);
  return text;
}

// By how many standard deviations the chi-square of counts against a law exceeds its mean (Wilson and
// Hilferty's normal form of it). Cells with fewer than 5 expected are taken together. Below 4 is chance; a
// cell that cannot occur and did gives infinity.
inline double chi_square_excess(const std::vector<double>& law, const std::vector<std::int64_t>& counts) {
  std::int64_t total = 0;
  for (const std::int64_t count : counts) total += count;
  double chi_square = 0, rest_expected = 0, rest_count = 0;
  int cells = 0;
  const auto add = [&](double expected, double count) {
    chi_square += (count - expected) * (count - expected) / expected;
    ++cells;
  };
  for (std::size_t i = 0; i < law.size(); ++i) {
    const double expected = law[i] * static_cast<double>(total), count = static_cast<double>(counts[i]);
    if (expected == 0 && count > 0) return HUGE_VAL;
    if (expected >= 5) {
      add(expected, count);
    } else {
      rest_expected += expected;
      rest_count += count;
    }
  }
  if (rest_expected > 0) add(rest_expected, rest_count);
  if (cells < 2) return 0;
  const double freedom = cells - 1, spread = 2 / (9 * freedom);
  return (std::cbrt(chi_square / freedom) - (1 - spread)) / std::sqrt(spread);
}

template <class Choose>
double excess_of(const ToyRun& run, int samples, Choose&& choose) {
  const std::vector<double> law = enumerate_law(run.target, run.params, run.length);
  std::vector<std::int64_t> counts(law.size(), 0);
  for (int i = 0; i < samples; ++i) {
    ++counts[number_of(generate(run, static_cast<std::uint64_t>(i), choose), run.target.vocabulary)];
  }
  return chi_square_excess(law, counts);
}

}  // namespace outrider::decode
