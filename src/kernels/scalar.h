// Scalar pieces that the targets share.
#pragma once

#include <cstdint>

namespace outrider::kernels {

// KernelTable::argmax, element by element.
inline void take_larger(const float* x, std::int64_t width, std::int32_t first, float* value,
                        std::int32_t* index) {
  for (std::int64_t i = 0; i < width; ++i) {
    if (x[i] != x[i] || (*index >= 0 && x[i] <= *value)) continue;
    *value = x[i];
    *index = first + static_cast<std::int32_t>(i);
  }
}

}  // namespace outrider::kernels
