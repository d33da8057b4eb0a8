// Taps: hidden states of the target that a drafter asked for. The model serves them without knowing why.
#pragma once

#include <compare>

namespace outrider::model {

// The residual stream, never normalised, at one side of decoder layer `layer` (0-based). The output of the
// embedding is the input of layer 0.
enum class TapSide { Input, Output };
struct TapPoint {
  int layer;
  TapSide side;
  friend auto operator<=>(const TapPoint&, const TapPoint&) = default;
};

}  // namespace outrider::model
