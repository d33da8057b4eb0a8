#include "text/stream.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/strings.h"

namespace outrider::text {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::size_t kStopCountMax = 64, kStopBytesMax = 4096;

std::vector<std::size_t> derive_borders(std::string_view text) {
  std::vector<std::size_t> borders(text.size() + 1, 0);
  for (std::size_t length = 2; length <= text.size(); ++length) {
    std::size_t border = borders[length - 1];
    while (border > 0 && text[border] != text[length - 1]) border = borders[border];
    borders[length] = text[border] == text[length - 1] ? border + 1 : 0;
  }
  return borders;
}

}  // namespace

void Utf8Stream::wait(unsigned char byte, int behind, unsigned char low, unsigned char high) {
  pending_ += static_cast<char>(byte);
  missing_ = behind;
  next_low_ = low;
  next_high_ = high;
}

void Utf8Stream::take(unsigned char byte, std::string& text) {
  if (missing_ > 0) {
    if (byte >= next_low_ && byte <= next_high_) {
      wait(byte, missing_ - 1, 0x80, 0xBF);
      if (missing_ == 0) text += std::exchange(pending_, {});
      return;
    }
    text += flush();  // the byte is looked at afresh
  }
  // Unicode table 3-7: the second byte excludes overlong forms, surrogates and what lies above U+10FFFF.
  if (byte < 0x80) {
    text += static_cast<char>(byte);
  } else if (byte >= 0xC2 && byte <= 0xDF) {
    wait(byte, 1, 0x80, 0xBF);
  } else if (byte >= 0xE0 && byte <= 0xEF) {
    wait(byte, 2, byte == 0xE0 ? 0xA0 : 0x80, byte == 0xED ? 0x9F : 0xBF);
  } else if (byte >= 0xF0 && byte <= 0xF4) {
    wait(byte, 3, byte == 0xF0 ? 0x90 : 0x80, byte == 0xF4 ? 0x8F : 0xBF);
  } else {
    text += kReplacement;
  }
}

std::string Utf8Stream::push(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) take(static_cast<unsigned char>(byte), text);
  return text;
}

std::string Utf8Stream::flush() {
  const bool waiting = !pending_.empty();
  pending_.clear();
  missing_ = 0;
  return waiting ? std::string(kReplacement) : std::string();
}

StopScanner::StopScanner(std::vector<std::string> stops) {
  for (std::string& stop : stops) {
    OUTRIDER_CHECK(!stop.empty());
    std::vector<std::size_t> borders = derive_borders(stop);
    patterns_.push_back({.text = std::move(stop), .borders = std::move(borders), .matched = 0});
  }
}

// Follows one byte in every pattern; true if a stop string ends here.
bool StopScanner::step(char byte) {
  ++seen_bytes_;
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    Pattern& pattern = patterns_[i];
    while (pattern.matched > 0 && pattern.text[pattern.matched] != byte)
      pattern.matched = pattern.borders[pattern.matched];
    if (pattern.text[pattern.matched] == byte) ++pattern.matched;
    if (pattern.matched < pattern.text.size()) continue;
    const std::size_t begin = seen_bytes_ - pattern.text.size();
    if (!match_ || begin < match_->begin) match_ = Match{.stop = i, .begin = begin, .end = seen_bytes_};
  }
  return match_.has_value();
}

std::string StopScanner::push(std::string_view text) {
  if (match_) return {};
  if (patterns_.empty()) {
    seen_bytes_ += text.size();
    return std::string(text);
  }
  for (const char byte : text) {
    held_ += byte;
    if (!step(byte)) continue;
    held_.resize(held_.size() - (match_->end - match_->begin));
    return std::exchange(held_, {});
  }
  std::size_t wanted = 0;  // the longest end of the text with which a stop string begins
  for (const Pattern& pattern : patterns_) wanted = std::max(wanted, pattern.matched);
  std::string out = held_.substr(0, held_.size() - wanted);
  held_.erase(0, out.size());
  return out;
}

std::string StopScanner::flush() { return std::exchange(held_, {}); }

void check_stops(const std::vector<std::string>& stops, const std::string& field,
                 base::Inspector& inspector) {
  inspector.require(stops.size() <= kStopCountMax, {.field = field,
                                                    .found = std::to_string(stops.size()) + " strings",
                                                    .rule = "at most " + std::to_string(kStopCountMax),
                                                    .remedy = ""});
  for (const std::string& stop : stops) {
    const bool holds = !stop.empty() && stop.size() <= kStopBytesMax && base::is_utf8(stop);
    inspector.require(holds, {.field = field,
                              .found = "\"" + base::printable(stop) + "\"",
                              .rule = "must be UTF-8 of 1 to " + std::to_string(kStopBytesMax) + " bytes",
                              .remedy = ""});
  }
}

TextStream::TextStream(Tokenizer tokenizer, StreamOptions options)
    : tokenizer_(std::move(tokenizer)), options_(std::move(options)), scanner_(options_.stops) {}

std::string TextStream::scan(std::string_view text) {
  std::string out = scanner_.push(text);
  if (const auto& match = scanner_.match()) {
    stop_ = Stop{.stop = match->stop, .token_count = token_count_, .text_bytes = match->begin};
    if (options_.include_stop) out += options_.stops[match->stop];
  }
  return out;
}

TextStream::Chunk TextStream::push(base::TokenId id) {
  if (stop_) return {.text = {}, .stopped = true};
  ++token_count_;
  if (options_.skip_special && tokenizer_.is_special(id)) return {};
  std::string out = scan(characters_.push(tokenizer_.bytes(id)));
  return {.text = std::move(out), .stopped = stop_.has_value()};
}

std::string TextStream::flush() {
  if (stop_) return {};
  std::string out = scan(characters_.flush());  // a stop string may end with U+FFFD
  return stop_ ? out : out + scanner_.flush();
}

}  // namespace outrider::text
