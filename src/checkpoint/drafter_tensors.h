// The tensors of a block drafter's own file (no "model." prefix): DeepSpec, speculators and z-lab name them
// alike.
#pragma once

#include "checkpoint/drafter_shape.h"
#include "checkpoint/tensor_list.h"

namespace outrider::checkpoint {

void list_drafter_tensors(const DrafterShape& shape, TensorLister& lister);

}  // namespace outrider::checkpoint
