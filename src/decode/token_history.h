// How often each token occurred in a sequence, for the penalties. Cheap to extend by drafts that are only
// supposed to be accepted, and to take them back: row i of a verified run sees the drafts before it as
// output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ids.h"

namespace outrider::decode {

class TokenHistory {
 public:
  struct Entry {
    base::TokenId id;
    bool in_prompt;
    std::int32_t output_count;
  };

  TokenHistory() = default;
  explicit TokenHistory(std::span<const base::TokenId> prompt);

  void append(base::TokenId output);
  void append(std::span<const base::TokenId> outputs);
  // Takes back the last `count` appended tokens.
  void undo(std::size_t count);

  std::size_t output_count() const { return outputs_.size(); }
  // One entry per distinct token, in order of first sight.
  std::span<const Entry> entries() const { return entries_; }

 private:
  Entry& entry_of(base::TokenId id);

  std::vector<Entry> entries_;
  std::unordered_map<base::TokenId, std::size_t> index_;
  std::vector<base::TokenId> outputs_;
};

}  // namespace outrider::decode
