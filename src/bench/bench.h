// One benchmark run: loads the target once, measures the parts asked for, probes the machine around each.
#pragma once

#include <functional>

#include "base/result.h"
#include "bench/report.h"
#include "bench/settings.h"
#include "checkpoint/open_model.h"
#include "engine/engine_plan.h"

namespace outrider::bench {

struct Question {
  Settings settings;
  kernels::Target kernels;
  int thread_count;
  const checkpoint::OpenedModel* target = nullptr;     // null: only `machine` is asked for
  const checkpoint::OpenedDrafter* drafter = nullptr;  // where the drafting plan has one with weights
  // Of the target alone, and of drafting where a part drafts; both for positions_needed().
  std::optional<engine::EnginePlan> plan = {}, drafting = {};
};

struct Listener {
  std::function<void(std::int64_t bytes_done)> on_load = {};
  std::function<void(const std::string& part)> on_part = {};
};

// The parts must not need positions that the model does not have.
base::Result<base::Done> check_positions(const Settings& settings, const checkpoint::ModelShape& shape);

// Refused where a part finds that it cannot be measured.
base::Result<Report> run_bench(const Question& question, const Listener& listener);

}  // namespace outrider::bench
