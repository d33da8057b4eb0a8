// --speculative-config JSON -> SpeculativeSettings: vLLM's keys; unknown ones and wrong types are problems.
#pragma once

#include <optional>
#include <string>

#include "base/inspector.h"
#include "base/json.h"
#include "engine/settings.h"

namespace outrider::cli {

struct SpeculativeFlags {
  engine::SpeculativeSettings settings;
  std::optional<std::string> model;
};
std::optional<SpeculativeFlags> parse_speculative(const base::Json& json, base::Inspector& inspector);

}  // namespace outrider::cli
