// vLLM's --config file: YAML of its flags -> the words that vLLM puts in their place.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace outrider::plan {

inline constexpr std::size_t kServeFileBytesMax = 1 << 20;

// A switch that is on or off, a list as words behind its flag, a map as JSON. Faults are of rule YAML.
std::vector<std::string> parse_serve_yaml(const std::string& text, std::vector<Problem>& problems);

}  // namespace outrider::plan
