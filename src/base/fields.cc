#include "base/fields.h"

namespace outrider::base {

std::string fingerprint_of(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char byte : bytes) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 0x100000001b3ULL;
  }
  std::string text(16, '0');
  for (std::size_t i = 0; i < text.size(); ++i)
    text[text.size() - 1 - i] = "0123456789abcdef"[(hash >> (4 * i)) & 15U];
  return text;
}

}  // namespace outrider::base
