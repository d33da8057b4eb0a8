// Tokens -> text as they come. What goes out never ends inside a character, nor with text that could still
// become a stop string.
//
// Characters: a token is bytes. Every complete, well-formed character (Unicode table 3-7) goes out at once;
// bytes that can no longer become one are one U+FFFD, as soon as that is certain; at most three bytes wait. A
// skipped special token is no bytes at all. Stop strings are found wherever they lie, across token borders
// too, and the same text stops at the same place however it was cut into tokens: the stop whose last byte
// comes first counts, of two that end together the longer one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/inspector.h"
#include "text/tokenizer.h"

namespace outrider::text {

// Bytes -> whole characters.
class Utf8Stream {
 public:
  std::string push(std::string_view bytes);
  // What waits becomes one U+FFFD. The stream is as new afterwards.
  std::string flush();

 private:
  void take(unsigned char byte, std::string& text);
  void wait(unsigned char byte, int behind, unsigned char low, unsigned char high);

  std::string pending_;
  int missing_ = 0;                             // bytes until the pending character is whole
  unsigned char next_low_ = 0, next_high_ = 0;  // what its next byte may be
};

// Text -> text up to the first stop string.
class StopScanner {
 public:
  struct Match {
    std::size_t stop;   // which of the stop strings
    std::size_t begin;  // bytes of text before it
    std::size_t end;
  };

  // None is empty.
  explicit StopScanner(std::vector<std::string> stops);

  // Appends `text`; returns what may go out now. After a match nothing does.
  std::string push(std::string_view text);
  // What is held, unless a stop was found.
  std::string flush();
  const std::optional<Match>& match() const { return match_; }

 private:
  struct Pattern {
    std::string text;
    std::vector<std::size_t>
        borders;              // by length of a prefix: its longest proper border (Knuth, Morris, Pratt)
    std::size_t matched = 0;  // bytes of it that the text so far ends with
  };
  bool step(char byte);

  std::vector<Pattern> patterns_;
  std::string held_;
  std::size_t seen_bytes_ = 0;
  std::optional<Match> match_;
};

struct StreamOptions {
  bool skip_special = true;
  std::vector<std::string> stops;
  bool include_stop = false;  // the text ends behind the stop string instead of before it
};

// Every stop string must be UTF-8 and not empty, and there may be 64 of up to 4096 bytes. `field` names them
// in messages.
void check_stops(const std::vector<std::string>& stops, const std::string& field, base::Inspector& inspector);

class TextStream {
 public:
  struct Chunk {
    std::string text;      // may go out now
    bool stopped = false;  // a stop string is complete: the sequence ends with this token
  };
  struct Stop {
    std::size_t stop;         // which of the stop strings
    std::size_t token_count;  // tokens pushed up to the one that completed it, this one included
    std::size_t text_bytes;   // bytes of text before the stop string
  };

  // `options.stops` passed check_stops.
  TextStream(Tokenizer tokenizer, StreamOptions options);

  Chunk push(base::TokenId id);  // after a stop: nothing
  // The rest, at the end of the sequence: what was held, unless a stop was found.
  std::string flush();
  const std::optional<Stop>& stop() const { return stop_; }

 private:
  std::string scan(std::string_view text);

  Tokenizer tokenizer_;
  StreamOptions options_;
  Utf8Stream characters_;
  StopScanner scanner_;
  std::size_t token_count_ = 0;
  std::optional<Stop> stop_;
};

}  // namespace outrider::text
