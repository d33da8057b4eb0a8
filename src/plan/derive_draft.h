// The drafter's settings: a copy of the target's, changed where a rule says so. Internal to the module.
#pragma once

#include <map>

#include "plan/derive.h"

namespace outrider::plan {

// Why each changed field differs from the target's.
using Reasons = std::map<std::string, std::string, std::less<>>;

RoleSettings derive_draft(RoleSettings settings, const Question& question, Reasons& reasons);
DraftSettings derive_drafting(const Question& question);

}  // namespace outrider::plan
