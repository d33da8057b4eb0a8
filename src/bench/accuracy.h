// What quantising costs in accuracy: perplexity on a text, and how often the likeliest token stays the same.
#pragma once

#include "base/result.h"
#include "bench/report.h"
#include "bench/settings.h"
#include "checkpoint/open_model.h"
#include "engine/engine_plan.h"

namespace outrider::bench {

// The held text in windows of at most 512 tokens, each from an empty cache; and greedy texts from the
// prompts. The weights as they are first, then (where they are not packed) as int8 and int4, one after the
// other.
base::Result<PartReport> measure_accuracy(const Settings& settings, const engine::EnginePlan& plan,
                                          const checkpoint::OpenedModel& target);

}  // namespace outrider::bench
