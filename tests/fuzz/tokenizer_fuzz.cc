// Fuzzes what reads a tokenizer.json, and what encodes and decodes with it. An input is a change to a healthy
// file, a NUL, and a text. The change is a JSON merge patch (RFC 7396), so that the fuzzer does not have to
// write 256 byte tokens before it gets anywhere; an input that starts with '!' is the whole file instead.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "base/strings.h"
#include "text/stream.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace outrider {
namespace {

using base::Json;

const Json& healthy_file() {
  static const Json file = [] {
    const auto text = base::read_text_file(OUTRIDER_TEST_DATA "/hostile/tokenizer/ok.json");
    OUTRIDER_CHECK(text.ok());
    auto json = base::parse_json(*text, "ok.json");
    OUTRIDER_CHECK(json.ok());
    return std::move(json).value();
  }();
  return file;
}

Json merged(Json target, const Json& patch) {
  base::apply_merge_patch(target, patch);
  return target;
}

void check_round_trip(const text::Tokenizer& tokenizer, std::string_view text, bool plain) {
  const auto ids = tokenizer.encode(text, true);
  if (!ids.ok()) {
    OUTRIDER_CHECK(!ids.error().problems.empty());
    return;
  }
  for (const base::TokenId id : *ids) OUTRIDER_CHECK(tokenizer.has(id));
  const std::string decoded = tokenizer.decode(*ids, false);
  OUTRIDER_CHECK(base::is_utf8(decoded));
  // The healthy file loses nothing but the way in which characters are composed.
  OUTRIDER_CHECK(!plain || text::derive_nfc(decoded) == text::derive_nfc(text));
}

// Any bytes come out as the same well-formed text, however they are cut; a stop string is found at the same
// place too.
void check_streams(std::string_view bytes) {
  text::Utf8Stream whole, single;
  const std::string at_once = whole.push(bytes) + whole.flush();
  std::string one_by_one;
  for (const char byte : bytes) {
    one_by_one += single.push(std::string_view(&byte, 1));
    OUTRIDER_CHECK(base::is_utf8(one_by_one));
  }
  one_by_one += single.flush();
  OUTRIDER_CHECK(base::is_utf8(at_once) && at_once == one_by_one);
  OUTRIDER_CHECK(!base::is_utf8(bytes) || at_once == bytes);
  const std::string stop = at_once.substr(0, std::min<std::size_t>(at_once.size(), 1 + bytes.size() % 4));
  if (stop.empty()) return;
  text::StopScanner scanner({stop, "ab"}), pieces({stop, "ab"});
  const std::string before = scanner.push(at_once) + scanner.flush();
  std::string slowly;
  for (const char byte : at_once) slowly += pieces.push(std::string_view(&byte, 1));
  OUTRIDER_CHECK(slowly + pieces.flush() == before && before.find(stop) == std::string::npos);
}

}  // namespace
}  // namespace outrider

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace outrider;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t border = input.find('\0');
  std::string_view file = input.substr(0, border);
  const std::string_view text =
      border == std::string_view::npos ? std::string_view() : input.substr(border + 1);
  check_streams(text);
  const bool whole = file.starts_with('!');
  if (whole) file.remove_prefix(1);
  const auto json = base::parse_json(file, "patch", {.depth_max = 1024});
  if (!json.ok()) return 0;
  const auto tokenizer =
      text::parse_tokenizer(whole ? *json : merged(healthy_file(), *json), "tokenizer.json");
  if (tokenizer.ok()) {
    check_round_trip(*tokenizer, text, json->object() != nullptr && json->object()->empty());
  } else {
    OUTRIDER_CHECK(!tokenizer.error().problems.empty());
  }
  return 0;
}
