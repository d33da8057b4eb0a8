// The program. The only place that exits.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/commands.h"

namespace outrider::cli {
namespace {

// What could not be written is lost: a script must not take half an answer for a whole one.
int flushed(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  std::fprintf(stderr, "failed: stdout could not be written: %s\n", std::strerror(errno));
  return exit_code == kDone ? kFailed : exit_code;
}

}  // namespace
}  // namespace outrider::cli

int main(int argc, char** argv) {
  using namespace outrider::cli;
  return flushed(run_program(std::vector<std::string>(argv + 1, argv + argc)));
}
