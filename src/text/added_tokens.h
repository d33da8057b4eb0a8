// Finds added tokens in text: leftmost, of those that start together the longest, then single_word, lstrip
// and rstrip.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace outrider::text {

struct AddedToken {
  base::TokenId id;
  std::string content;
  bool special;      // left out of decoded text when asked
  bool normalized;   // looked for after the normaliser, in its normalised form
  bool lstrip;       // takes the white space before it
  bool rstrip;       // takes the white space behind it
  bool single_word;  // counts only with no word character on either side
};

// A stretch of text: an added token, or, without an id, text that still has to be split.
struct Section {
  std::optional<base::TokenId> id;
  std::string_view text;
};

class AddedTokenFinder {
 public:
  AddedTokenFinder() = default;
  explicit AddedTokenFinder(std::vector<AddedToken> tokens);

  // Cuts `text` (well-formed UTF-8) into sections, in order; none is empty.
  std::vector<Section> cut(std::string_view text) const;

 private:
  // The longest token that starts at the start of `text`, or null.
  const AddedToken* find_at_start(std::string_view text) const;

  std::vector<AddedToken> tokens_;  // sorted by content
  std::array<bool, 256> starts_{};  // first bytes
};

}  // namespace outrider::text
