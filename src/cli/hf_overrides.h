// --hf-overrides on a config.json, as each engine applies it.
#pragma once

#include <vector>

#include "base/json.h"
#include "plan/plan.h"

namespace outrider::cli {

// Ours: a merge patch (RFC 7386). vLLM: a key of an object that is a config of its own ("text_config") goes
// on inside it; any other value takes the key's place whole, null included. Never a key of the nested config
// from outside of it. Keys that reach no setting are listed.
void apply_hf_overrides(base::Json& config, const base::Json& overrides, plan::Engine engine,
                        std::vector<plan::StrayOverride>& stray);

}  // namespace outrider::cli
