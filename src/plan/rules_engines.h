// Rules of A to K that other engines uphold by what they have: kernels, classes and formats by name. Their
// rows stand in the tables of their letters.
#pragma once

#include "plan/rules.h"

namespace outrider::plan {

void check_c6(const Question& q, Reporter& out);
void check_lse(const Question& q, Reporter& out);  // of C7
void check_d11(const Question& q, Reporter& out);
void check_d8_trtllm(const Question& q, Reporter& out);
void check_d10_trtllm(const Question& q, Reporter& out);
void check_e1(const Question& q, Reporter& out);
void check_g4(const Question& q, Reporter& out);

}  // namespace outrider::plan
