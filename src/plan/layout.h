// What follows from the settings of both roles: who holds which layers, experts, slots and bytes. Only for
// plans that no rule refused. Internal to the module.
#pragma once

#include "plan/question.h"

namespace outrider::plan {

RoleLayout derive_target_layout(const Question& question);
RoleLayout derive_draft_layout(const Question& question);
std::vector<RankPlan> derive_ranks(const Question& question, const RoleLayout& target);
PlanBytes derive_bytes(const Question& question, const std::vector<RankPlan>& ranks);

}  // namespace outrider::plan
