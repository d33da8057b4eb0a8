#include "draft/ngram.h"

#include <algorithm>

namespace outrider::draft {

std::vector<base::TokenId> find_continuation(std::span<const base::TokenId> tokens, const NgramPlan& plan,
                                             int count) {
  const auto size = static_cast<std::int64_t>(tokens.size());
  std::int64_t best_length = plan.lookup_min - 1, best_end = -1;
  // `end`: one past an earlier occurrence of the suffix. The latest wins among equally long ones.
  for (std::int64_t end = size - 1; end >= plan.lookup_min; --end) {
    std::int64_t length = 0;
    while (length < plan.lookup_max && length < end &&
           tokens[static_cast<std::size_t>(end - 1 - length)] ==
               tokens[static_cast<std::size_t>(size - 1 - length)]) {
      ++length;
    }
    if (length > best_length) {
      best_length = length;
      best_end = end;
      if (length == plan.lookup_max) break;
    }
  }
  if (best_end < 0) return {};
  const std::int64_t last = std::min<std::int64_t>(size, best_end + count);
  return {tokens.begin() + best_end, tokens.begin() + last};
}

void NgramDrafter::propose(std::span<const DraftRequest> requests, std::span<decode::Proposal> proposals) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const int count = std::min(plan_.draft_tokens, requests[i].draft_count_max);
    proposals[i].clear();
    for (const base::TokenId token : find_continuation(requests[i].tokens, plan_, count)) {
      proposals[i].tokens.push_back(token);
      proposals[i].q.push_back(decode::OneHot{token});
    }
  }
}

}  // namespace outrider::draft
