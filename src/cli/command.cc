#include "cli/command.h"

#include <algorithm>
#include <cstdio>
#include <new>

namespace outrider::cli {

int run_command(const Command& command, std::span<const std::string> words) {
  try {
    return command.run(words);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr,
                 "failed: out of memory; --max-model-len, --max-num-seqs, --max-num-batched-tokens and "
                 "--quantization say how much is needed\n");
    return kFailed;
  }
}

int print_refusal(const base::Refusal& refusal) {
  for (const base::Problem& problem : refusal.problems) {
    std::fprintf(stderr, "refused: %s\n", base::to_string(problem).c_str());
  }
  return kRefused;
}

bool printed_help(std::span<const std::string> words, std::string_view usage, std::string_view about,
                  std::span<const base::Flag> flags, std::string_view more) {
  const bool asked = std::any_of(words.begin(), words.end(),
                                 [](const std::string& w) { return w == "-h" || w == "--help"; });
  if (!asked) return false;
  std::printf("usage: outrider %.*s\n\n%.*s\n\n%s", static_cast<int>(usage.size()), usage.data(),
              static_cast<int>(about.size()), about.data(), base::help_text(flags).c_str());
  if (!more.empty()) std::printf("\n%.*s", static_cast<int>(more.size()), more.data());
  return true;
}

}  // namespace outrider::cli
