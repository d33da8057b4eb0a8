// One benchmark run: loads the target once, measures the parts asked for, probes the machine around each.
#pragma once

#include <functional>

#include "base/result.h"
#include "bench/report.h"
#include "bench/settings.h"
#include "checkpoint/open_model.h"
#include "engine/settings.h"

namespace outrider::bench {

struct Question {
  Settings settings;
  engine::EngineSettings engine;
  const checkpoint::OpenedModel* target = nullptr;     // null: only `machine` is asked for
  const checkpoint::OpenedDrafter* drafter = nullptr;  // where the speculative settings name one
};

struct Listener {
  std::function<void(std::int64_t bytes_done)> on_load = {};
  std::function<void(const std::string& part)> on_part = {};
};

// Refused where the parts need what was not given, or positions that the model does not have.
base::Result<Report> run_bench(const Question& question, const Listener& listener);

}  // namespace outrider::bench
