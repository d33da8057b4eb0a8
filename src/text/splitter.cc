#include "text/splitter.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <optional>

#include "base/check.h"
#include "text/pattern.h"

namespace outrider::text {
namespace {

constexpr std::size_t kPatternBytesMax = 16384;
constexpr std::uint32_t kGroupDepthMax = 100;
// Steps of one match; a run of n equal characters costs some n steps, so that the length of the piece is
// added.
constexpr std::size_t kMatchSteps = 1'000'000;
// Places at which one call may try to start a match; between calls the clock is read.
constexpr std::size_t kStartsPerCall = 256;
constexpr std::uint32_t kMatchHeapKib = 65536;
constexpr std::size_t kJitStackBytesMin = 32 << 10, kJitStackBytesMax = 4 << 20;

template <class T, void (*free_fn)(T*)>
struct Freer {
  void operator()(T* held) const { free_fn(held); }
};
using Code = std::unique_ptr<pcre2_code, Freer<pcre2_code, pcre2_code_free>>;
using CompileContext =
    std::unique_ptr<pcre2_compile_context, Freer<pcre2_compile_context, pcre2_compile_context_free>>;
using MatchContext =
    std::unique_ptr<pcre2_match_context, Freer<pcre2_match_context, pcre2_match_context_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, Freer<pcre2_match_data, pcre2_match_data_free>>;
using JitStack = std::unique_ptr<pcre2_jit_stack, Freer<pcre2_jit_stack, pcre2_jit_stack_free>>;

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

}  // namespace

struct SplitWorkspace::Parts {
  explicit Parts(double seconds) : seconds_max(seconds) {}
  MatchContext context{pcre2_match_context_create(nullptr)};
  MatchData data{pcre2_match_data_create(1, nullptr)};
  JitStack stack{pcre2_jit_stack_create(kJitStackBytesMin, kJitStackBytesMax, nullptr)};

  // The wall clock is cheap; only where it says so is the thread's own asked, so that a stopped process loses
  // nothing.
  bool out_of_time() const {
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - wall_start;
    return wall.count() > seconds_max && thread_seconds() - thread_start > seconds_max;
  }
  static double thread_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }

  double seconds_max;
  std::chrono::steady_clock::time_point wall_start = std::chrono::steady_clock::now();
  double thread_start = thread_seconds();
};

SplitWorkspace::SplitWorkspace(double seconds_max) : parts_(std::make_unique<Parts>(seconds_max)) {
  OUTRIDER_CHECK(parts_->context != nullptr && parts_->data != nullptr);
  pcre2_set_heap_limit(parts_->context.get(), kMatchHeapKib);
  if (parts_->stack != nullptr) pcre2_jit_stack_assign(parts_->context.get(), nullptr, parts_->stack.get());
}
SplitWorkspace::SplitWorkspace(SplitWorkspace&&) noexcept = default;
SplitWorkspace::~SplitWorkspace() = default;

namespace {

struct Span {
  std::size_t begin, end;
  bool matched;
};

// The matches and what lies between them, in order; empty ones included.
class Scanner {
 public:
  Scanner(const pcre2_code* code, std::string_view piece, SplitWorkspace::Parts& workspace)
      : code_(code), piece_(piece), workspace_(workspace) {
    const std::size_t steps = kMatchSteps + 4 * piece.size();
    const auto limit =
        static_cast<std::uint32_t>(std::min<std::size_t>(steps, std::numeric_limits<std::uint32_t>::max()));
    pcre2_set_match_limit(workspace_.context.get(), limit);
    pcre2_set_depth_limit(workspace_.context.get(), limit);
  }

  base::Result<std::vector<Span>, base::Error> run() {
    std::vector<Span> spans;
    std::size_t previous = 0, from = 0;
    std::optional<std::size_t> last_end;
    while (from <= piece_.size()) {
      if (workspace_.out_of_time()) return base::Error{"took longer than it may on a text"};
      const std::size_t last_start = std::min(from + kStartsPerCall, piece_.size());
      const int count = match(from, last_start);
      if (count == PCRE2_ERROR_NOMATCH && last_start < piece_.size()) {
        from = character_behind(last_start);
        continue;
      }
      if (count == PCRE2_ERROR_NOMATCH) break;
      if (count < 0)
        return base::Error{"gave up on a text of " + std::to_string(piece_.size()) +
                           " bytes: " + message_of(count)};
      const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(workspace_.data.get());
      const std::size_t begin = bounds[0], end = bounds[1];
      if (begin > end || begin < from)
        return base::Error{"matches backwards"};  // \K, which no pattern of ours lets through
      if (begin == end && last_end == end) {      // an empty match right behind a match does not count
        from = character_behind(end);
        continue;
      }
      if (previous != begin) spans.push_back({previous, begin, false});
      spans.push_back({begin, end, true});
      previous = from = end;
      last_end = end;
    }
    if (previous != piece_.size()) spans.push_back({previous, piece_.size(), false});
    return spans;
  }

 private:
  // The start of the first character behind a byte.
  std::size_t character_behind(std::size_t byte) const {
    do {
      ++byte;
    } while (byte < piece_.size() && (static_cast<unsigned char>(piece_[byte]) & 0xC0) == 0x80);
    return byte;
  }

  // A match that starts at `from` to `last_start`.
  int match(std::size_t from, std::size_t last_start) {
    pcre2_set_offset_limit(workspace_.context.get(), last_start);
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(piece_.data());
    const auto run = [&](std::uint32_t options) {
      return pcre2_match(code_, subject, piece_.size(), from, PCRE2_NO_UTF_CHECK | options,
                         workspace_.data.get(), workspace_.context.get());
    };
    const int count = run(0);
    // The interpreter keeps its stack on the heap, within the heap limit.
    return count == PCRE2_ERROR_JIT_STACKLIMIT ? run(PCRE2_NO_JIT) : count;
  }

  const pcre2_code* code_;
  std::string_view piece_;
  SplitWorkspace::Parts& workspace_;
};

// Spans -> parts. A span that counts as match stands alone, vanishes or joins a neighbour.
std::vector<Span> derive_parts(SplitBehavior behavior, const std::vector<Span>& spans) {
  std::vector<Span> parts;
  bool previous_matched = false;
  for (const Span& span : spans) {
    const bool join_back = behavior == SplitBehavior::MergedWithPrevious ? span.matched && !previous_matched
                           : behavior == SplitBehavior::Contiguous       ? span.matched == previous_matched
                           : behavior == SplitBehavior::MergedWithNext   ? !span.matched && previous_matched
                                                                         : false;
    if (behavior == SplitBehavior::Removed && span.matched) continue;
    if (join_back && !parts.empty()) {
      parts.back().end = span.end;
    } else {
      parts.push_back(span);
    }
    previous_matched = span.matched;
  }
  return parts;
}

}  // namespace

struct Splitter::Compiled {
  Code code;
  SplitBehavior behavior;
  bool invert;
};

base::Result<Splitter, base::Error> Splitter::compile(const SplitRule& rule) {
  std::string pattern = rule.pattern;
  if (pattern.size() > kPatternBytesMax) {
    return base::Error{"a pattern may have " + std::to_string(kPatternBytesMax) + " bytes"};
  }
  if (pattern.empty()) return base::Error{"must not be empty"};
  if (!rule.literal) {
    OUTRIDER_TRY(pattern, parse_pattern(rule.pattern));
  }
  const CompileContext context{pcre2_compile_context_create(nullptr)};
  OUTRIDER_CHECK(context != nullptr);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_parens_nest_limit(context.get(), kGroupDepthMax);
  const std::uint32_t options =
      PCRE2_UTF | PCRE2_USE_OFFSET_LIMIT |
      (rule.literal ? PCRE2_LITERAL : PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C | PCRE2_MULTILINE);
  int error = 0;
  PCRE2_SIZE offset = 0;
  Code code{pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), options, &error,
                          &offset, context.get())};
  if (code == nullptr) return base::Error{"no valid pattern: " + message_of(error)};
  // Where no machine code can be made the interpreter runs; the parts are the same.
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  return Splitter(std::make_shared<const Compiled>(Compiled{std::move(code), rule.behavior, rule.invert}));
}

base::Result<base::Done, base::Error> Splitter::split(std::string_view piece, SplitWorkspace& workspace,
                                                      std::vector<std::string_view>& parts) const {
  OUTRIDER_TRY(std::vector<Span> spans, Scanner(compiled_->code.get(), piece, workspace.parts()).run());
  if (compiled_->invert) {
    for (Span& span : spans) span.matched = !span.matched;
  }
  for (const Span& part : derive_parts(compiled_->behavior, spans)) {
    if (part.end > part.begin) parts.push_back(piece.substr(part.begin, part.end - part.begin));
  }
  return base::Done{};
}

}  // namespace outrider::text
