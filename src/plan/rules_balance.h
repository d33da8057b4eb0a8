// D5, D13, D20: the numbers of balancing, per role. Their rows stand in rules_experts.cc.
#pragma once

#include "plan/rules.h"

namespace outrider::plan {

void check_d5(const Question& q, Reporter& out);
void check_d13(const Question& q, Reporter& out);
void check_d20(const Question& q, Reporter& out);

}  // namespace outrider::plan
