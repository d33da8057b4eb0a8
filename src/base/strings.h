// Small text helpers for messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace outrider::base {

// Text from outside made fit for a message: control characters, marks that turn text around and invalid UTF-8
// escaped as \xNN, cut at `limit` bytes with "...".
std::string printable(std::string_view text, std::size_t limit = 120);

// "a, b, c"; after the first `limit` names "... (N in all)".
std::string list_names(const std::vector<std::string>& names, std::size_t limit = 20);

// Edit distance, for "did you mean".
std::size_t edit_distance(std::string_view a, std::string_view b);

// True if the bytes are well-formed UTF-8 (Unicode table 3-7: no overlong forms, no surrogates, at most
// U+10FFFF).
bool is_utf8(std::string_view bytes);

// The shortest text that reads back as the same number.
std::string to_text(double value);
std::string to_text(float value);

}  // namespace outrider::base
