// What a request asks of sampling: a value, its check, and its logit bias as JSON. The order in which the
// fields act and how ties fall is sampling.h's matter.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/inspector.h"
#include "base/json.h"

namespace outrider::decode {

struct SamplingParams {
  double temperature = 0;         // below kGreedyTemperature: greedy
  std::int64_t top_k = 0;         // 0, -1 and anything from the vocabulary's size on: all tokens
  double top_p = 1;               // 1: all tokens
  double min_p = 0;               // 0: all tokens
  double repetition_penalty = 1;  // prompt and output, each token once
  double presence_penalty = 0;    // output only, each token once
  double frequency_penalty = 0;   // output only, times the count
  std::vector<std::pair<base::TokenId, double>> logit_bias = {};  // ids distinct, rising
  std::uint64_t seed = 0;

  friend bool operator==(const SamplingParams&, const SamplingParams&) = default;
};

constexpr double kGreedyTemperature = 1e-5;

inline bool is_greedy(const SamplingParams& params) { return params.temperature < kGreedyTemperature; }
// True if the counts of a TokenHistory matter.
inline bool reads_history(const SamplingParams& params) {
  return params.repetition_penalty != 1 || params.presence_penalty != 0 || params.frequency_penalty != 0;
}

// How fields are named in problems: "--top-k" on a command line, "top_k" in a request.
enum class FieldNames { Flags, Json };

void check_sampling(const SamplingParams& params, std::int64_t vocabulary, base::Inspector& inspector,
                    FieldNames names = FieldNames::Flags);

// {"50256": -100, "7": 1.5}: an object of token ids in canonical decimal form. Ranges are check_sampling's
// matter.
base::Result<std::vector<std::pair<base::TokenId, double>>> parse_logit_bias(const base::Json& json,
                                                                             const std::string& field);

}  // namespace outrider::decode
