#include "text/added_tokens.h"

#include <algorithm>

#include "base/check.h"
#include "text/unicode.h"

namespace outrider::text {
namespace {

std::size_t space_before(std::string_view text) {
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const Character character = last_character(text.substr(0, text.size() - bytes));
    if (!is_space(character.code)) break;
    bytes += character.bytes;
  }
  return bytes;
}

std::size_t space_behind(std::string_view text) {
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const Character character = first_character(text.substr(bytes));
    if (!is_space(character.code)) break;
    bytes += character.bytes;
  }
  return bytes;
}

bool stands_alone(std::string_view before, std::string_view behind) {
  return (before.empty() || !is_word(last_character(before).code)) &&
         (behind.empty() || !is_word(first_character(behind).code));
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  // Stable: of two tokens that the normaliser made equal, the earlier one of the file is found.
  std::stable_sort(tokens_.begin(), tokens_.end(),
                   [](const AddedToken& a, const AddedToken& b) { return a.content < b.content; });
  for (const AddedToken& token : tokens_) {
    OUTRIDER_CHECK(!token.content.empty());
    starts_[static_cast<unsigned char>(token.content[0])] = true;
  }
}

const AddedToken* AddedTokenFinder::find_at_start(std::string_view text) const {
  if (!starts_[static_cast<unsigned char>(text[0])]) return nullptr;
  const AddedToken* longest = nullptr;
  auto begin = tokens_.begin(), end = tokens_.end();
  // [begin, end) are the tokens that share the first `length` bytes with the text.
  for (std::size_t length = 0; begin != end; ++length) {
    if (begin->content.size() == length) {
      longest = &*begin;
      while (begin != end && begin->content.size() == length) ++begin;
    }
    if (length == text.size()) break;
    const auto byte = static_cast<unsigned char>(text[length]);
    const auto byte_of = [length](const AddedToken& token) {
      return static_cast<unsigned char>(token.content[length]);
    };
    begin = std::partition_point(begin, end, [&](const AddedToken& token) { return byte_of(token) < byte; });
    end = std::partition_point(begin, end, [&](const AddedToken& token) { return byte_of(token) == byte; });
  }
  return longest;
}

std::vector<Section> AddedTokenFinder::cut(std::string_view text) const {
  std::vector<Section> sections;
  std::size_t done = 0;  // text before it is in a section
  for (std::size_t at = 0; at < text.size();) {
    const AddedToken* token = find_at_start(text.substr(at));
    if (token == nullptr) {
      ++at;
      continue;
    }
    std::size_t start = at, end = at + token->content.size();
    at = end;  // a match is used up even if single_word discards it
    if (token->single_word && !stands_alone(text.substr(0, start), text.substr(end))) continue;
    // A token before this one may have taken the space that this one starts with: then `start` lies before
    // `done`.
    if (token->lstrip && start > done) start -= space_before(text.substr(done, start - done));
    if (token->rstrip) end += space_behind(text.substr(end));
    if (done < start) sections.push_back({std::nullopt, text.substr(done, start - done)});
    sections.push_back({token->id, text.substr(start, end - start)});
    done = std::max(done, end);
  }
  if (done < text.size()) sections.push_back({std::nullopt, text.substr(done)});
  return sections;
}

}  // namespace outrider::text
