// A distribution over the vocabulary as weights and their sum: one token, all tokens, or some. Target (p) and
// drafter (q) use the same type, and a probability is always weight / total, so that what a ratio test
// divides by is exactly what was drawn from.
#pragma once

#include <span>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "decode/shared_noise.h"

namespace outrider::decode {

struct OneHot {
  base::TokenId id = 0;
};
struct Dense {
  std::vector<float> weights;  // by token id
  double total = 0;            // sum in order of the ids
};
struct Sparse {
  std::vector<base::TokenId> ids;  // rising
  std::vector<float> weights;      // of ids
  double total = 0;                // sum in order of the ids
};
using Distribution = std::variant<OneHot, Dense, Sparse>;

double probability_of(const Distribution& distribution, base::TokenId id);

// The token at which the running sum of probabilities, in order of the ids, passes `uniform`, of (0, 1).
base::TokenId draw(const Distribution& distribution, double uniform);

// The same for max(p - q, 0), normalised: what follows a rejected draft. p itself where nothing is left of
// it, which only rounding can bring about.
base::TokenId draw_residual(const Distribution& p, const Distribution& q, double uniform);

// The token of the lowest waiting time over weight, the lowest id among equals: an exact draw from p, and for
// two distributions under the same noise a coupling that agrees with probability (1 - TV) / (1 + TV) at least
// (Daliri, Musco, Suresh, arXiv 2408.07978).
base::TokenId draw_by_shared_noise(const Distribution& distribution, const SharedNoise& noise);

// The alternative to write into, with the capacity of an earlier use where there is one.
template <class Kind>
Kind& reuse_as(Distribution& distribution) {
  if (Kind* same = std::get_if<Kind>(&distribution)) return *same;
  return distribution.emplace<Kind>();
}

}  // namespace outrider::decode
