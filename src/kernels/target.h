// Kernel targets: which instruction sets an operation may use. Chosen once at start-up, never inside a loop.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"

namespace outrider::kernels {

enum class Target { Reference, Avx2, Avx512 };  // Avx512 needs F, BW, DQ, VL, BF16 and VNNI

std::string_view name_of(Target target);  // "reference", "avx2", "avx512"
base::Result<Target> parse_target(std::string_view name);
// What this machine can run, slowest first; always holds Reference.
std::vector<Target> available_targets();
Target best_target();

}  // namespace outrider::kernels
