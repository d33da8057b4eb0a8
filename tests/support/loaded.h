// A target, with or without a drafter, ready to run: what tests of the whole engine start from.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/open_model.h"
#include "engine/engine.h"
#include "plan/plan.h"

namespace outrider::testing {

// Strict fp32 on one thread and the best target, unless a test says otherwise.
plan::Intent float32_settings();
// A block drafter with so many drafts, absent: as many as it was trained for; its file says of which kind it
// is.
plan::AskedDraft drafting(std::optional<std::int64_t> drafts = {});

struct Loaded {
  checkpoint::OpenedModel target;
  std::optional<checkpoint::OpenedDrafter> drafter;
  std::unique_ptr<engine::Engine> engine;
};

// Planned as a command plans it; `drafter_path` is used where the settings ask for a drafter with weights.
Loaded load(const std::string& target_path, const std::string& drafter_path, plan::Intent settings);

engine::Request greedy_request(std::vector<base::TokenId> prompt, std::int64_t tokens_max);

// Submits all requests at once, runs to the end, gives the outputs in order.
std::vector<engine::Output> run_all(engine::Engine& engine, const std::vector<engine::Request>& requests);

}  // namespace outrider::testing
