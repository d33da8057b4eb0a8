// Bytes that a process of our own engine needs, before it takes any: weights as they will lie, caches, and an
// allowance for what grows with the rows of a step. Only for one rank; internal to the module.
//
// Weights in our own packing are mapped from their file: the kernel keeps their pages as long as it can, and
// reads them again where it must. What every step reads is counted, since a step that waits for the disk is
// no use; experts of such a file are not, since a token reads a few of many.
#pragma once

#include <cstdint>
#include <optional>

#include "plan/question.h"

namespace outrider::plan {

struct MemoryNeed {
  double weights = 0, draft_weights = 0, kv = 0, draft_kv = 0, buffers = 0;
  double total() const { return weights + draft_weights + kv + draft_kv + buffers; }
};

// Nothing where more than one rank shares the work, or sizes are not known.
std::optional<MemoryNeed> derive_memory(const Question& question);

}  // namespace outrider::plan
