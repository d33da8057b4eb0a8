// A command that runs a model starts from the same plan as `outrider plan` prints: its flags become an
// Intent, and what no rule refuses comes back as settings with every number decided.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/engine_flags.h"
#include "plan/plan.h"

namespace outrider::cli {

plan::Intent intent_of(const std::string& model, const EngineFlags& flags);

// Judges the flags by the rules and fills in what the plan derived: longest sequence, number of drafts.
// Problems name the flags. Checkpoints were opened before: what is wrong inside their files has been told.
base::Result<EngineFlags> plan_engine(const std::string& model, EngineFlags flags);

}  // namespace outrider::cli
