// The flags that may stand on a judged command line: those of a plan, and everything else that vLLM has or
// had.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/flags.h"

namespace outrider::plan {

// vLLM's short ways of three keys of --speculative-config.
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kSpecFlags = {
    {{"--spec-method", "method"}, {"--spec-model", "model"}, {"--spec-tokens", "num_speculative_tokens"}}};

// For telling known flags from unknown ones.
std::vector<base::Flag> judged_flags();

std::string setting_of_flag(std::string_view flag);  // "--block-size" -> "target.block_size"

}  // namespace outrider::plan
