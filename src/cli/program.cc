// Picks a command by its name.
#include <cstdio>

#include "base/strings.h"
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

}  // namespace

int run_program(const std::vector<std::string>& words) {
  if (words.empty()) {
    print_usage(stderr);
    return kRefused;
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    print_usage(stdout);
    return kDone;
  }
  if (words[0] == "--version") return run_version({});
  for (const Command& command : kCommands) {
    if (command.name == words[0]) return run_command(command, std::span(words).subspan(1));
  }
  return print_refusal(base::refuse({.field = "command",
                                     .found = base::printable(words[0]),
                                     .rule = "is no command of outrider",
                                     .remedy = "outrider --help lists them"}));
}

}  // namespace outrider::cli
