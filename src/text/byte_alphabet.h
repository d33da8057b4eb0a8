// The byte alphabet of byte-level BPE (GPT-2): every byte is written as one printable character, so that a
// vocabulary is text. Bytes that Latin-1 prints stand for themselves; the other 68, in order, are U+0100,
// U+0101, ...
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace outrider::text {

// The character of one byte, as UTF-8.
std::string alphabet_letter(unsigned char byte);

// The bytes that `piece` writes, or nothing if one of its characters is no letter of the alphabet. `piece` is
// well-formed UTF-8.
std::optional<std::string> alphabet_bytes(std::string_view piece);

}  // namespace outrider::text
