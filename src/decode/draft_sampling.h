// How a drafter chooses a token from its logits, in the way that verification relies on: the token and what
// it was drawn from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "decode/accept_method.h"
#include "decode/sampling.h"

namespace outrider::decode {

// vLLM's "draft_sample_method". Greedy: the argmax, q one-hot at any temperature. Probabilistic: drawn from
// softmax(logits / T) over the drafter's whole vocabulary, without the request's other parameters (they cost
// acceptance, not correctness).
enum class DraftSampleMethod { Greedy, Probabilistic };

base::Result<DraftSampleMethod> parse_draft_sample_method(std::string_view name, const std::string& field);

inline bool is_greedy_draft(DraftSampleMethod method, double temperature) {
  return method == DraftSampleMethod::Greedy || temperature < kGreedyTemperature;
}

struct DraftRules {
  DraftSampleMethod method = DraftSampleMethod::Greedy;
  AcceptMethod accept =
      AcceptMethod::Standard;  // DrafterInvariant draws by the noise that the target will use
  double temperature = 0;      // the request's
  std::uint64_t seed = 0;      // the request's
};

// Where a draft stands. The slot keys the drafter's noise too: a position that is drafted again from a later
// anchor must not meet the noise of the first try, since the scheduler may have learnt from that try how many
// drafts to verify now.
struct DraftPlace {
  std::int64_t position;  // absolute, of the token to choose
  int slot;               // 0 for the token right after the anchor
};

// The token (of the target's vocabulary) and its q. `target_ids` maps a reduced draft vocabulary to the
// target's ids; empty means that both are the same. An error if the logits yield no distribution.
base::Result<base::TokenId, base::Error> sample_draft(std::span<const float> logits,
                                                      std::span<const base::TokenId> target_ids,
                                                      const DraftRules& rules, const DraftPlace& place,
                                                      Distribution& q);

}  // namespace outrider::decode
