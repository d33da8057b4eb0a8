// `outrider plan`: what would run, or everything that is wrong with it. The command apart from its printing,
// so that tests call it.
#pragma once

#include <span>
#include <string>

#include "plan/command_line.h"

namespace outrider::cli {

struct PlanAnswer {
  int code;         // kDone, kFailed, kRefused
  std::string out;  // for stdout
  std::string err;  // for stderr
};

PlanAnswer answer_plan(std::span<const std::string> words, const plan::Environment& environment);

}  // namespace outrider::cli
