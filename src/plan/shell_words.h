// Text of a command line -> words, as a shell parts it; and what typing and pasting does to words that a
// shell parted already.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace outrider::plan {

// Commands of a text, each as its words: blanks, quotes, backslashes, comments; a line's end, ";", "&&", "|"
// and
// "&" end a command, a redirection and its file are no words.
std::vector<std::vector<std::string>> split_shell(std::string_view text);

// Typographic quotes, as word processors put them.
bool has_curly_quotes(std::string_view text);
std::string with_straight_quotes(std::string text);

// Words as a shell gave them: continuations that were pasted within a line are no words, and typographic
// quotes that should have held words together do so.
std::vector<std::string> mended_words(std::span<const std::string> words);

}  // namespace outrider::plan
