// What a run cost and what drafting gained: plain sums, to be printed or compared. A round counts as it was
// verified: the drafts of the last one may reach behind the end of the text.
#pragma once

#include <cstdint>
#include <vector>

namespace outrider::engine {

struct Figures {
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t decoded_tokens = 0;  // of the output, those that decode steps gave
  std::int64_t steps = 0;
  std::int64_t rounds = 0;           // verified proposals of at least one draft
  std::int64_t drafted_tokens = 0;   // proposed by the drafter
  std::int64_t verified_tokens = 0;  // of those, run through the target
  std::int64_t accepted_tokens = 0;
  std::vector<std::int64_t> verified_by_position, accepted_by_position;  // index k: draft k of a round
  double prefill_seconds = 0;                                            // steps that ran prompt rows
  double decode_seconds = 0;                                             // all others
  double draft_seconds = 0;         // of both: context rows and proposals
  double decode_draft_seconds = 0;  // the part of it in decode steps
  double verify_seconds = 0;        // the target's pass in decode steps

  double total_seconds() const { return prefill_seconds + decode_seconds; }
  // Tokens committed per decode round of a sequence, the target's own token included.
  double mean_acceptance_length() const {
    return rounds == 0 ? 1.0 : 1.0 + static_cast<double>(accepted_tokens) / static_cast<double>(rounds);
  }
  friend bool operator==(const Figures&, const Figures&) = default;
};

}  // namespace outrider::engine
