// A target, with or without a drafter, ready to run: what tests of the whole engine start from.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/open_model.h"
#include "engine/engine.h"
#include "engine/settings.h"

namespace outrider::testing {

// Strict fp32 on one thread and the best target, unless a test says otherwise.
engine::EngineSettings float32_settings();

struct Loaded {
  checkpoint::OpenedModel target;
  std::optional<checkpoint::OpenedDrafter> drafter;
  std::unique_ptr<engine::Engine> engine;
};

// `drafter_path` is used where the settings ask for a drafter with weights.
Loaded load(const std::string& target_path, const std::string& drafter_path,
            const engine::EngineSettings& settings);

engine::Request greedy_request(std::vector<base::TokenId> prompt, std::int64_t tokens_max);

// Submits all requests at once, runs to the end, gives the outputs in order.
std::vector<engine::Output> run_all(engine::Engine& engine, const std::vector<engine::Request>& requests);

}  // namespace outrider::testing
