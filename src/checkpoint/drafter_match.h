// Whether a drafter was made for this target. It reads the target's hidden states and may borrow its
// embedding and head, so that widths, vocabulary and tapped layers must be the target's; nothing can be told
// from names.
#pragma once

#include <string>

#include "base/inspector.h"
#include "checkpoint/drafter_shape.h"
#include "checkpoint/model_shape.h"

namespace outrider::checkpoint {

// Every disagreement, with both values; `source` names the drafter's config.
void check_drafter_match(const DrafterShape& drafter, const ModelShape& target, const std::string& source,
                         base::Inspector& inspector);

}  // namespace outrider::checkpoint
