// The list of fields of an intent as flags. Internal to the module.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/flags.h"
#include "plan/engine.h"

namespace outrider::plan {

std::string dashed(std::string_view name);  // "--max-model-len"
std::vector<std::string> split_blanks(std::string_view text);
// The target's fields that an engine has (all engines' where none is given) and a command takes.
void add_asked_flags(std::vector<base::Flag>& flags, std::optional<Engine> only, Use use = Use::Plan);
// The model, the drafter and the balancing.
void add_common_flags(std::vector<base::Flag>& flags);

}  // namespace outrider::plan
