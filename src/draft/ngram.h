// Prompt lookup: the longest suffix n-gram of the sequence that occurred before is found, and what followed
// it is proposed. No weights; q is one-hot.
#pragma once

#include "draft/drafter.h"

namespace outrider::draft {

struct NgramPlan {
  int lookup_max = 5;  // tokens of the suffix, longest tried first
  int lookup_min = 1;
  int draft_tokens;  // N
  friend bool operator==(const NgramPlan&, const NgramPlan&) = default;
};

// What follows the most recent earlier occurrence of the longest suffix of lookup_min .. lookup_max tokens;
// at most `count` tokens.
std::vector<base::TokenId> find_continuation(std::span<const base::TokenId> tokens, const NgramPlan& plan,
                                             int count);

class NgramDrafter final : public Drafter {
 public:
  explicit NgramDrafter(const NgramPlan& plan) : plan_(plan) {}
  std::span<const model::TapPoint> taps() const override { return {}; }
  int drafts_max() const override { return plan_.draft_tokens; }
  bool estimates_survival() const override { return false; }
  void begin(base::SequenceId) override {}
  void observe(std::span<const Observation>) override {}
  void propose(std::span<const DraftRequest> requests, std::span<decode::Proposal> proposals) override;
  void settle(base::SequenceId, std::int64_t) override {}
  void end(base::SequenceId) override {}

 private:
  NgramPlan plan_;
};

}  // namespace outrider::draft
