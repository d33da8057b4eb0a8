// The program: picks a command. The only place that exits.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/strings.h"
#include "cli/command.h"
#include "cli/commands.h"

namespace outrider::cli {
namespace {

void print_usage(std::FILE* out) {
  std::fprintf(out,
               "usage: outrider COMMAND [flags]\n\nOutrider runs large language models with speculative "
               "decoding.\n\ncommands:\n");
  for (const Command& command : kCommands) {
    std::fprintf(out, "  %-10s %s\n", std::string(command.name).c_str(),
                 std::string(command.summary).c_str());
  }
  std::fprintf(out, "\noutrider COMMAND --help tells a command's flags.\n");
}

int run(const std::vector<std::string>& words) {
  if (words.empty()) {
    print_usage(stderr);
    return kRefused;
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    print_usage(stdout);
    return kDone;
  }
  for (const Command& command : kCommands) {
    if (command.name == words[0]) return command.run(std::span(words).subspan(1));
  }
  return print_refusal(base::refuse({.field = "command",
                                     .found = base::printable(words[0]),
                                     .rule = "is no command of outrider",
                                     .remedy = "outrider --help lists them"}));
}

}  // namespace
}  // namespace outrider::cli

int main(int argc, char** argv) {
  const int exit_code = outrider::cli::run(std::vector<std::string>(argv + 1, argv + argc));
  // What could not be written is lost: a script must not take half an answer for a whole one.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::fprintf(stderr, "failed: stdout could not be written: %s\n", std::strerror(errno));
    return exit_code == outrider::cli::kDone ? outrider::cli::kFailed : exit_code;
  }
  return exit_code;
}
