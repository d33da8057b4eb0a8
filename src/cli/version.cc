#include <cstdio>

#include "cli/commands.h"

namespace outrider::cli {

int run_version(std::span<const std::string>) {
  std::printf("outrider %s\n", OUTRIDER_VERSION);
  return kDone;
}

}  // namespace outrider::cli
