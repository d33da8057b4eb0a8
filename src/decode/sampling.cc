#include "decode/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/check.h"

namespace outrider::decode {
namespace {

using base::Done;
using base::Error;
using base::Result;
using base::TokenId;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool comes_before(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

// Blocks that cannot raise the maximum are passed over; NaN and plus infinity can always "raise" it and are
// met one by one.
template <class Element>
Result<TokenId, Error> argmax_of(std::span<const Element> logits) {
  constexpr std::size_t kBlock = 32;
  Element best = -std::numeric_limits<Element>::infinity();
  TokenId chosen = -1;
  std::size_t faulty = logits.size();
  const auto look_at = [&](std::size_t index) {
    if (logits[index] <= best) return;
    if (!(logits[index] <= std::numeric_limits<Element>::max())) faulty = std::min(faulty, index);
    best = logits[index];
    chosen = static_cast<TokenId>(index);
  };
  std::size_t first = 0;
  for (; first + kBlock <= logits.size() && faulty == logits.size(); first += kBlock) {
    const Element* block = logits.data() + first;
    int promising = 0;
    for (std::size_t i = 0; i < kBlock; ++i) promising |= static_cast<int>(!(block[i] <= best));
    if (promising == 0) continue;
    for (std::size_t i = 0; i < kBlock && faulty == logits.size(); ++i) look_at(first + i);
  }
  for (; first < logits.size() && faulty == logits.size(); ++first) look_at(first);
  if (faulty < logits.size()) {
    return Error{"the logit of token " + std::to_string(faulty) + " is " +
                 (std::isnan(logits[faulty]) ? "not a number" : "infinite") +
                 ": no distribution follows from it"};
  }
  if (chosen < 0) return Error{"all logits are minus infinity: no token is possible"};
  return chosen;
}

// The best `count` tokens with a logit of at least `floor`, in order; minus infinity never counts.
template <class Element>
void select_top(std::span<const Element> logits, std::size_t count, double floor,
                std::vector<Candidate>& out) {
  out.clear();
  const std::size_t capacity = 2 * count + 64;
  double bar = std::nextafter(floor, -kInfinity);  // a token must lie above it
  const auto prune = [&] {
    std::nth_element(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(count) - 1, out.end(),
                     comes_before);
    out.resize(count);
    bar = out.back().logit;  // an equal that comes later has a higher id, and loses
  };
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double logit = static_cast<double>(logits[i]);
    if (!(logit > bar) || logit == -kInfinity) continue;
    out.push_back({.logit = logit, .id = static_cast<TokenId>(i)});
    if (out.size() == capacity) prune();
  }
  if (out.size() > count) prune();
  std::sort(out.begin(), out.end(), comes_before);
}

// Every token with a logit of at least `floor`, in order of the ids; minus infinity never counts.
template <class Element>
void select_from(std::span<const Element> logits, double floor, std::vector<Candidate>& out) {
  out.clear();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double logit = static_cast<double>(logits[i]);
    if (logit >= floor && logit != -kInfinity) out.push_back({.logit = logit, .id = static_cast<TokenId>(i)});
  }
}

// exp((logit - maximum) / temperature)
struct Softener {
  double maximum, temperature;

  float weight(double logit) const { return std::exp(static_cast<float>((logit - maximum) / temperature)); }
};

template <class Element>
void fill_dense(std::span<const Element> logits, const Softener& softener, Dense& out) {
  out.weights.resize(logits.size());
  out.total = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    out.weights[i] = softener.weight(static_cast<double>(logits[i]));
    out.total += static_cast<double>(out.weights[i]);
  }
}

void fill_sparse(std::vector<Candidate>& kept, const Softener& softener, Sparse& out) {
  std::sort(kept.begin(), kept.end(), [](const Candidate& a, const Candidate& b) { return a.id < b.id; });
  out.ids.clear();
  out.weights.clear();
  out.total = 0;
  for (const Candidate& candidate : kept) {
    out.ids.push_back(candidate.id);
    out.weights.push_back(softener.weight(candidate.logit));
    out.total += static_cast<double>(out.weights.back());
  }
}

// Cuts candidates in falling order where the sum before reaches `goal`; false if the sum of all stays below
// it.
bool cut_at_mass(std::vector<Candidate>& candidates, const Softener& softener, double goal) {
  double sum = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (sum >= goal) {
      candidates.resize(i);
      return true;
    }
    sum += static_cast<double>(softener.weight(candidates[i].logit));
  }
  return sum >= goal;
}

double mass_of(std::span<const Candidate> candidates, const Softener& softener) {
  double mass = 0;
  for (const Candidate& candidate : candidates) mass += static_cast<double>(softener.weight(candidate.logit));
  return mass;
}

// Cuts candidates in any order to the first of the falling order whose sum reaches `goal`: halves the range
// in which the border lies, and sorts only what is left of it.
void partition_at_mass(std::vector<Candidate>& candidates, const Softener& softener, double goal) {
  auto first = candidates.begin(), last = candidates.end();
  double sum = 0;  // of all before `first`
  while (last - first > 256) {
    const auto middle = first + (last - first) / 2;
    std::nth_element(first, middle, last, comes_before);
    const double mass = mass_of({first, middle}, softener);
    if (sum + mass >= goal) {
      last = middle;
    } else {
      sum += mass;
      first = middle;
    }
  }
  std::sort(first, last, comes_before);
  for (; first != last && sum < goal; ++first) sum += static_cast<double>(softener.weight(first->logit));
  candidates.erase(first, candidates.end());
}

// top_p where no top_k bounds the candidates. Mostly the best few suffice.
template <class Element>
void select_nucleus(std::span<const Element> logits, double top_p, double floor, const Softener& softener,
                    std::vector<Candidate>& out) {
  constexpr std::size_t kFew = 256;
  double mass = 0;
  for (const Element element : logits) {
    const double logit = static_cast<double>(element);
    if (logit >= floor) mass += static_cast<double>(softener.weight(logit));
  }
  select_top(logits, std::min(kFew, logits.size()), floor, out);
  if (cut_at_mass(out, softener, top_p * mass)) return;
  select_from(logits, floor, out);
  partition_at_mass(out, softener, top_p * mass);
}

template <class Element>
Result<Done, Error> truncate_and_soften(std::span<const Element> logits, const SamplingParams& params,
                                        SamplingScratch& scratch, Distribution& out) {
  OUTRIDER_TRY(const TokenId first, argmax_of(logits));
  if (is_greedy(params)) {
    out = OneHot{.id = first};
    return Done{};
  }
  const Softener softener{.maximum = static_cast<double>(logits[static_cast<std::size_t>(first)]),
                          .temperature = params.temperature};
  const bool limits_count = params.top_k > 0 && static_cast<std::size_t>(params.top_k) < logits.size();
  if (!limits_count && params.top_p >= 1 && params.min_p <= 0) {
    fill_dense(logits, softener, reuse_as<Dense>(out));
    return Done{};
  }
  const double floor =
      params.min_p > 0 ? softener.maximum + params.temperature * std::log(params.min_p) : -kInfinity;
  std::vector<Candidate>& kept = scratch.candidates;
  if (limits_count) {
    select_top(logits, static_cast<std::size_t>(params.top_k), floor, kept);
    if (params.top_p < 1) cut_at_mass(kept, softener, params.top_p * mass_of(kept, softener));
  } else if (params.top_p < 1) {
    select_nucleus(logits, params.top_p, floor, softener, kept);
  } else {
    select_from(logits, floor, kept);
  }
  fill_sparse(kept, softener, reuse_as<Sparse>(out));
  return Done{};
}

void adjust_logits(std::span<const float> logits, const SamplingParams& params, const TokenHistory& history,
                   std::vector<double>& adjusted) {
  adjusted.assign(logits.begin(), logits.end());
  const auto logit_of = [&](TokenId id) -> double& {
    OUTRIDER_CHECK(id >= 0 && static_cast<std::size_t>(id) < adjusted.size());
    return adjusted[static_cast<std::size_t>(id)];
  };
  for (const auto& [id, bias] : params.logit_bias) logit_of(id) += bias;
  if (!reads_history(params)) return;
  for (const TokenHistory::Entry& entry : history.entries()) {
    double& logit = logit_of(entry.id);
    logit = logit > 0 ? logit / params.repetition_penalty : logit * params.repetition_penalty;
    if (entry.output_count == 0) continue;
    logit -= params.frequency_penalty * entry.output_count;
    logit -= params.presence_penalty;
  }
}

}  // namespace

Result<TokenId, Error> find_argmax(std::span<const float> logits) { return argmax_of(logits); }

Result<Done, Error> process_logits(std::span<const float> logits, const SamplingParams& params,
                                   const TokenHistory& history, SamplingScratch& scratch, Distribution& out) {
  if (params.logit_bias.empty() && !reads_history(params))
    return truncate_and_soften(logits, params, scratch, out);
  adjust_logits(logits, params, history, scratch.adjusted);
  return truncate_and_soften(std::span<const double>(scratch.adjusted), params, scratch, out);
}

Result<Done, Error> soften_logits(std::span<const float> logits, double temperature, Dense& out) {
  OUTRIDER_CHECK(temperature >= kGreedyTemperature);
  OUTRIDER_TRY(const TokenId first, argmax_of(logits));
  const Softener softener{.maximum = static_cast<double>(logits[static_cast<std::size_t>(first)]),
                          .temperature = temperature};
  fill_dense(logits, softener, out);
  return Done{};
}

RowLogprobs derive_logprobs(std::span<const float> logits, TokenId chosen, int top_count,
                            SamplingScratch& scratch) {
  OUTRIDER_CHECK(chosen >= 0 && static_cast<std::size_t>(chosen) < logits.size() && top_count >= 0);
  float maximum = -std::numeric_limits<float>::infinity();
  for (const float logit : logits) maximum = std::max(maximum, logit);
  double sum = 0;
  for (const float logit : logits) sum += static_cast<double>(std::exp(logit - maximum));
  const double log_sum = static_cast<double>(maximum) + std::log(sum);
  RowLogprobs row{
      .chosen = static_cast<float>(static_cast<double>(logits[static_cast<std::size_t>(chosen)]) - log_sum),
      .top = {}};
  if (top_count == 0) return row;
  select_top(logits, std::min(static_cast<std::size_t>(top_count), logits.size()), -kInfinity,
             scratch.candidates);
  for (const Candidate& candidate : scratch.candidates) {
    row.top.push_back({.id = candidate.id, .logprob = static_cast<float>(candidate.logit - log_sum)});
  }
  return row;
}

}  // namespace outrider::decode
