// EnginePlan: everything that will run in one process, as a value. Derived elsewhere (plan/), never repaired
// here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "cache/plan.h"
#include "checkpoint/model_shape.h"
#include "decode/verify.h"
#include "draft/block_drafter.h"
#include "draft/ngram.h"
#include "kernels/executor.h"
#include "kernels/linear.h"

namespace outrider::engine {

struct DraftPlan {
  std::variant<draft::BlockPlan, draft::NgramPlan> drafter;
  decode::AcceptRules accept;
  std::optional<kernels::WeightFormat> quantization = {};  // the drafter's own
  double confidence_threshold = 0;                         // verify up to the first draft below it; 0: all
};

struct EnginePlan {
  kernels::Target target;
  int thread_count;
  kernels::Arithmetic arithmetic;
  std::optional<kernels::WeightFormat> quantization = {};
  checkpoint::ModelShape shape;
  cache::CachePlan cache;
  std::int64_t sequence_tokens_max;  // max_model_len
  std::int64_t step_rows_max;        // max_num_batched_tokens
  std::int64_t sequences_max;        // max_num_seqs
  // How plain sampling draws, and how drafts are judged: DrafterInvariant also without a drafter, so that the
  // text is the same.
  decode::AcceptMethod accept = decode::AcceptMethod::Standard;
  std::optional<DraftPlan> draft = {};

  // No sequence grows longer: rotary tables need not reach further.
  std::int64_t reachable_tokens() const {
    return std::min(sequence_tokens_max, cache.block_count * cache.block_tokens);
  }
};

}  // namespace outrider::engine
