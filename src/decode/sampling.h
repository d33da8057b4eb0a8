// From logits to the distribution of the next token. One function computes the final p of a position with
// every sampling parameter, and accepting, correcting and plain sampling all use it.
//
// Order (vLLM's): logit_bias, repetition_penalty, frequency_penalty, presence_penalty, temperature, min_p,
// top_k, top_p, softmax. Greedy takes the argmax before the temperature. Ties: argmax, top_k and top_p prefer
// the lowest token id, top_k keeps exactly k, min_p keeps all tokens at or above its threshold.
// tests/data/sampling/README.md states the arithmetic.
//
// Rows of 150,000 logits are usual: nothing sorts a vocabulary unless top_p keeps most of it, greedy is one
// pass.
#pragma once

#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "decode/distribution.h"
#include "decode/sampling_params.h"
#include "decode/token_history.h"

namespace outrider::decode {

struct Candidate {
  double logit;
  base::TokenId id;
};

// Memory that is reused from row to row.
struct SamplingScratch {
  std::vector<double> adjusted;
  std::vector<Candidate> candidates;
};

// The token of the highest logit, the lowest id among equals. An error if a logit is NaN or plus infinity, or
// all are minus infinity: faulty weights bring that about, and it must stay the request's error.
base::Result<base::TokenId, base::Error> find_argmax(std::span<const float> logits);

// The distribution of the next token into `out`. `history` holds prompt and output before the position.
base::Result<base::Done, base::Error> process_logits(std::span<const float> logits,
                                                     const SamplingParams& params,
                                                     const TokenHistory& history, SamplingScratch& scratch,
                                                     Distribution& out);

// Softmax of logits / temperature over all tokens, without any other parameter: what drafters draw from.
base::Result<base::Done, base::Error> soften_logits(std::span<const float> logits, double temperature,
                                                    Dense& out);

struct TokenLogprob {
  base::TokenId id;
  float logprob;

  friend bool operator==(const TokenLogprob&, const TokenLogprob&) = default;
};
struct RowLogprobs {
  float chosen;  // of the token that was taken
  std::vector<TokenLogprob>
      top;  // falling, the lowest id among equals; fewer where fewer tokens are possible
};
// Log-softmax of the raw logits, before any parameter, as vLLM reports it.
RowLogprobs derive_logprobs(std::span<const float> logits, base::TokenId chosen, int top_count,
                            SamplingScratch& scratch);

}  // namespace outrider::decode
