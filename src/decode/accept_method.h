// How a draft is judged: vLLM's "rejection_sample_method", with one method more.
#pragma once

#include <string>
#include <string_view>

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

}  // namespace outrider::decode
