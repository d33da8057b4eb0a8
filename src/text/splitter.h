// One "Split" of a pre-tokenizer: cuts pieces of text where a pattern matches (PCRE2, compiled to machine
// code where the system allows it). A pattern comes from a file, so that compiling and every match have
// limits in steps, depth and memory.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace outrider::text {

// What becomes of the matches: Hugging Face's SplitDelimiterBehavior.
enum class SplitBehavior { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };

struct SplitRule {
  std::string pattern;
  bool literal;  // the pattern is plain text, no regular expression
  SplitBehavior behavior;
  bool invert;  // what lies between the matches counts as match
};

// What one thread needs to match: match block, limits, stack, and a budget of processor time for all splits
// together: a pattern can be slow at every place of a text without being slow enough at one. One serves any
// number of splits, one after the other.
class SplitWorkspace {
 public:
  explicit SplitWorkspace(double seconds_max);
  SplitWorkspace(SplitWorkspace&&) noexcept;
  ~SplitWorkspace();
  struct Parts;
  Parts& parts() { return *parts_; }

 private:
  std::unique_ptr<Parts> parts_;
};

// Shared by threads.
class Splitter {
 public:
  // The rule that the pattern breaks stands in Error::message.
  static base::Result<Splitter, base::Error> compile(const SplitRule& rule);

  // Appends the parts of `piece` (well-formed UTF-8) to `parts`, in order, empty ones left out. Lookaheads
  // see the piece alone.
  base::Result<base::Done, base::Error> split(std::string_view piece, SplitWorkspace& workspace,
                                              std::vector<std::string_view>& parts) const;

 private:
  struct Compiled;
  explicit Splitter(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace outrider::text
