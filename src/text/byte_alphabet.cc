#include "text/byte_alphabet.h"

#include <array>
#include <cstdint>

#include "text/unicode.h"

namespace outrider::text {
namespace {

constexpr std::uint32_t kLetterCount = 256 + 68;

struct Alphabet {
  std::array<std::uint32_t, 256> code_of_byte{};
  std::array<std::int16_t, kLetterCount> byte_of_code{};
};

constexpr Alphabet derive_alphabet() {
  Alphabet alphabet;
  alphabet.byte_of_code.fill(-1);
  std::uint32_t next = 256;
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    const bool prints = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    const std::uint32_t code = prints ? byte : next++;
    alphabet.code_of_byte[byte] = code;
    alphabet.byte_of_code[code] = static_cast<std::int16_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = derive_alphabet();

}  // namespace

std::string alphabet_letter(unsigned char byte) {
  std::string letter;
  append_utf8(kAlphabet.code_of_byte[byte], letter);
  return letter;
}

std::optional<std::string> alphabet_bytes(std::string_view piece) {
  std::string bytes;
  while (!piece.empty()) {
    const Character character = first_character(piece);
    piece.remove_prefix(character.bytes);
    if (character.code >= kLetterCount || kAlphabet.byte_of_code[character.code] < 0) return std::nullopt;
    bytes += static_cast<char>(static_cast<unsigned char>(kAlphabet.byte_of_code[character.code]));
  }
  return bytes;
}

}  // namespace outrider::text
