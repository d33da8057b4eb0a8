// The parts that need a drafter.
#pragma once

#include <memory>

#include "bench/parts.h"
#include "checkpoint/open_model.h"
#include "engine/engine.h"

namespace outrider::bench {

struct DraftSubject {
  std::shared_ptr<model::Model> target;
  kernels::Executor& executor;
  const MachineProbe& probe;
  const Settings& settings;
  const engine::EnginePlan& plan;                // with a draft
  const checkpoint::TensorSource* draft_source;  // null for drafters without weights
  std::vector<base::TokenId> end_tokens;         // of real prompts
};

// A block's time by part (context writer, layers, head, Markov, the rest) against the bytes it reads.
base::Result<PartReport> measure_draft(const DraftSubject& subject);

// Plain decoding and drafting in turn, for each prompt: with acceptance as it comes, and forced to all and to
// none; with as many drafts as asked (fixed) and as the scheduler picks (adaptive). Forcing changes what was
// proposed, by what plain decoding wrote; the target's verdict is its own.
base::Result<PartReport> measure_speculate(const DraftSubject& subject);

}  // namespace outrider::bench
