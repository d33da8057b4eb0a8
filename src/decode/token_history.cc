#include "decode/token_history.h"

#include "base/check.h"

namespace outrider::decode {

TokenHistory::TokenHistory(std::span<const base::TokenId> prompt) {
  for (const base::TokenId id : prompt) entry_of(id).in_prompt = true;
}

TokenHistory::Entry& TokenHistory::entry_of(base::TokenId id) {
  const auto [place, is_new] = index_.try_emplace(id, entries_.size());
  if (is_new) entries_.push_back({.id = id, .in_prompt = false, .output_count = 0});
  return entries_[place->second];
}

void TokenHistory::append(base::TokenId output) {
  ++entry_of(output).output_count;
  outputs_.push_back(output);
}

void TokenHistory::append(std::span<const base::TokenId> outputs) {
  for (const base::TokenId id : outputs) append(id);
}

void TokenHistory::undo(std::size_t count) {
  OUTRIDER_CHECK(count <= outputs_.size());
  for (; count > 0; --count) {
    const base::TokenId id = outputs_.back();
    outputs_.pop_back();
    Entry& entry = entry_of(id);
    --entry.output_count;
    // What the token brought in is last, since tokens go in the opposite order of their coming.
    if (entry.output_count == 0 && !entry.in_prompt) {
      OUTRIDER_CHECK(entries_.back().id == id);
      entries_.pop_back();
      index_.erase(id);
    }
  }
}

}  // namespace outrider::decode
