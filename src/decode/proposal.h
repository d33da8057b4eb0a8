// What a drafter proposes for one sequence: a chain of tokens, what each was drawn from, and how sure the
// drafter is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "base/ids.h"
#include "decode/distribution.h"

namespace outrider::decode {

struct Proposal {
  std::vector<base::TokenId>
      tokens;  // ids of the target's vocabulary; token i stands i + 1 positions after the anchor
  std::vector<Distribution> q;  // of each token: what it was drawn from, OneHot where nothing was drawn
  // Empty, or of each token: the chance that it is accepted if all before it are. It may depend on the tokens
  // before its own, never on its own, or cutting by it would bias what comes out.
  std::vector<float> confidences;

  // Empty again, memory kept.
  void clear() {
    tokens.clear();
    q.clear();
    confidences.clear();
  }
};

// How many drafts to keep: up to the first whose confidence is below the threshold; all where the threshold
// is 0 or less.
inline std::size_t cut_by_confidence(std::span<const float> confidences, double threshold) {
  if (threshold <= 0) return confidences.size();
  const auto low = std::find_if(confidences.begin(), confidences.end(), [threshold](float confidence) {
    return !(static_cast<double>(confidence) >= threshold);
  });
  return static_cast<std::size_t>(low - confidences.begin());
}

}  // namespace outrider::decode
