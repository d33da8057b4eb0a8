// One command of the program: a row in main.cc's table, a file of its own. Only cli/ prints to stdout and
// only main exits.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/flags.h"
#include "base/result.h"

namespace outrider::cli {

// The process's exit codes.
inline constexpr int kDone = 0;     // done
inline constexpr int kFailed = 1;   // failed while running
inline constexpr int kRefused = 2;  // bad input or configuration

struct Command {
  std::string_view name;
  std::string_view summary;                        // one line, for the program's help
  int (*run)(std::span<const std::string> words);  // the words behind the command's name -> exit code
};

// Runs it on the words. Memory that ran out is a failure with a sentence, not an abort.
int run_command(const Command& command, std::span<const std::string> words);
// "refused: field = found: rule; remedy", one line per problem, on stderr; returns kRefused.
int print_refusal(const base::Refusal& refusal);
// True if the words ask for help ("-h", "--help"); then the help is printed: usage, text, flags, and more.
bool printed_help(std::span<const std::string> words, std::string_view usage, std::string_view about,
                  std::span<const base::Flag> flags, std::string_view more = "");

}  // namespace outrider::cli
