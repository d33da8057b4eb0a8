// What the tokenizer asks of Unicode: characters of well-formed UTF-8, NFC, and the two classes that added
// tokens look at. The tables are utf8proc's (Unicode 14).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace outrider::text {

struct Character {
  std::uint32_t code;
  std::size_t bytes;
};

// `text` is well-formed and not empty.
Character first_character(std::string_view text);
Character last_character(std::string_view text);

void append_utf8(std::uint32_t code, std::string& text);

// Canonical composition (Unicode annex 15). `text` is well-formed. The time is n log n also for long runs of
// combining marks.
std::string derive_nfc(std::string_view text);

// White_Space; unlike some tables it holds no U+180E, U+200B or U+001C to U+001F.
bool is_space(std::uint32_t code);

// \w of Unicode technical standard 18: alphabetic characters, marks, decimal digits, connectors and joiners.
bool is_word(std::uint32_t code);

}  // namespace outrider::text
