// The target judges a proposal: how many drafts stand, and which token follows them. Plain decoding is the
// case of no drafts, in the same code. What comes out has exactly the target's distribution p after all
// sampling parameters, whatever the drafter (Leviathan, Kalman, Matias, arXiv 2211.17192; Chen et al., arXiv
// 2302.01318). End of text, stop strings and length limits inside an accepted run are the caller's to cut.
//
// Every random number is keyed by (seed, absolute position of the token it decides, purpose), so that it does
// not depend on batch, step or how many drafts there were; the accept coin, the correction and the drafter's
// own noise are streams of their own.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "decode/accept_method.h"
#include "decode/proposal.h"
#include "decode/sampling.h"
#include "tensor/view.h"

namespace outrider::decode {

struct AcceptRules {
  AcceptMethod method = AcceptMethod::Standard;
  // For Synthetic only. Rate i is the chance that drafts 0..i are all accepted, not that of draft i alone: at
  // most 1, never rising (vLLM's synthetic_acceptance_rates).
  std::vector<double> synthetic_rates = {};
};

struct VerifyInput {
  // [1 + drafts, vocabulary]: row i decides the token at position + i. Fewer drafts than the proposal holds
  // means that the rest was never run; the token after a run cut short is drawn from plain p, not from a
  // residual.
  tensor::MatrixView<const float> logits;
  const Proposal& proposal;
  const SamplingParams& params;
  std::int64_t position;  // absolute, of the token that row 0 decides: one after the anchor
};

struct Verdict {
  int accepted_count;        // drafts that stand
  base::TokenId next_token;  // the correction after a rejection, or the bonus token after the last draft

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

// Memory that is reused from call to call. Sequences of different parameters take turns, so each form of p
// keeps its own.
struct VerifyScratch {
  SamplingScratch sampling;
  Distribution one_hot, dense, sparse;

  Distribution& form_for(const SamplingParams& params) {
    if (is_greedy(params)) return one_hot;
    return params.top_k > 0 || params.top_p < 1 || params.min_p > 0 ? sparse : dense;
  }
};

// `history` holds prompt and output up to the anchor; it is changed while rows are judged and comes back as
// it was. An error if a row that had to be read yields no distribution.
base::Result<Verdict, base::Error> run_verify(const AcceptRules& rules, const VerifyInput& input,
                                              TokenHistory& history, VerifyScratch& scratch);

}  // namespace outrider::decode
