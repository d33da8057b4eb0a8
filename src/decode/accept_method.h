// How a draft is judged: vLLM's "rejection_sample_method", with one method more, and the rates of the
// synthetic one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace outrider::decode {

enum class AcceptMethod {
  Standard,          // ratio test: exact in distribution, accepts 1 - TV of the drafts
  DrafterInvariant,  // one Gumbel noise for draft and target: the same bytes for a seed with any drafter and
                     // with none
  Synthetic,  // a coin of given chances whatever the logits say: for measuring speed, the text is worthless
};

std::string_view name_of(AcceptMethod method);  // "standard", "drafter_invariant", "synthetic"
base::Result<AcceptMethod> parse_accept_method(std::string_view name, const std::string& field);

// Rate i is the chance that drafts 0..i are all accepted, not that of draft i alone: at most 1, never rising.
// Exactly one of `rates` and `length` (the mean number of tokens a round yields, the target's own included)
// is given; a length becomes the rates of least variance. `draft_count` is the number of drafts a round.
base::Result<std::vector<double>> parse_synthetic_rates(const std::optional<std::vector<double>>& rates,
                                                        const std::optional<double>& length, int draft_count);

}  // namespace outrider::decode
