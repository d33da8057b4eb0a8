// D16, D17: what TensorRT-LLM's balancing file must hold. Internal to the module.
#pragma once

#include "plan/rules.h"

namespace outrider::plan {

void check_d16(const Question& q, Reporter& out);
void check_d17(const Question& q, Reporter& out);

}  // namespace outrider::plan
