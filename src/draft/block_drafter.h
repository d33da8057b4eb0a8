// Block drafters: DSpark (arXiv 2607.05147) and DFlash (arXiv 2602.06036), in the three formats of
// checkpoint/drafter_shape.h. Context rows, made of the target's taps, give keys and values; a block of slots
// [anchor, mask ...] reads them without a causal mask; a sequential head chooses the drafts from left to
// right. Slots S and drafts N are two numbers: with N below the block's own count the full block runs and the
// first N drafts count, since a shorter block would see other masks than it was trained with.
#pragma once

#include <memory>

#include "cache/plan.h"
#include "checkpoint/drafter_shape.h"
#include "checkpoint/tensor_source.h"
#include "decode/draft_sampling.h"
#include "draft/drafter.h"
#include "kernels/executor.h"
#include "model/model.h"
#include "model/weights.h"

namespace outrider::draft {

struct BlockPlan {
  checkpoint::DrafterShape shape;
  int draft_tokens;  // N
  int block_slots;   // S, at least what N needs
  decode::DraftSampleMethod method;
  decode::AcceptMethod accept;  // DrafterInvariant draws by the noise that the target will use
  cache::CachePlan cache;       // the drafter's own context cache, block rows included
  std::int64_t position_count;  // rotary tables reach so far
  friend bool operator==(const BlockPlan&, const BlockPlan&) = default;
};

// `target` lends its embedding or head where the file has none; it must outlive the drafter.
base::Result<std::unique_ptr<Drafter>> load_block_drafter(kernels::Executor& executor, const BlockPlan& plan,
                                                          const checkpoint::TensorSource& source,
                                                          const model::Model& target,
                                                          const model::LoadOptions& options);

// The cache layers of such a drafter.
std::vector<cache::LayerCache> derive_draft_cache_layers(const checkpoint::DrafterShape& shape);

}  // namespace outrider::draft
