#include "support/loaded.h"

#include <gtest/gtest.h>

#include "base/result.h"

namespace outrider::testing {

engine::EngineSettings float32_settings() {
  return {.target = kernels::best_target(), .thread_count = 1, .dtype = engine::DtypeChoice::Float32};
}

namespace {
template <class T>
T take(base::Result<T> result) {
  OUTRIDER_CHECK_MSG(result.ok(), result.ok() ? "" : base::to_string(result.error()));
  return std::move(result).value();
}
}  // namespace

Loaded load(const std::string& target_path, const std::string& drafter_path,
            const engine::EngineSettings& settings) {
  const checkpoint::OpenOptions options;
  const auto warn = [](const std::string&) {};
  Loaded loaded{
      .target = take(checkpoint::open_model(target_path, options, warn)), .drafter = {}, .engine = {}};
  std::optional<checkpoint::DrafterShape> shape;
  if (settings.speculative && settings.speculative->method != engine::DraftMethod::Ngram) {
    loaded.drafter = take(checkpoint::open_drafter(drafter_path, loaded.target.shape, options, warn));
    shape = loaded.drafter->shape;
  }
  engine::EnginePlan plan = take(engine::derive_engine_plan(settings, loaded.target.shape, shape));
  loaded.engine = take(engine::Engine::open(std::move(plan), *loaded.target.weights,
                                            loaded.drafter ? loaded.drafter->weights.get() : nullptr));
  return loaded;
}

engine::Request greedy_request(std::vector<base::TokenId> prompt, std::int64_t tokens_max) {
  return {.prompt = std::move(prompt),
          .sampling = {},
          .tokens_max = tokens_max,
          .stop_tokens = {},
          .logprobs = {}};
}

std::vector<engine::Output> run_all(engine::Engine& engine, const std::vector<engine::Request>& requests) {
  std::vector<base::SequenceId> ids;
  for (const engine::Request& request : requests) ids.push_back(take(engine.submit(request, nullptr)));
  while (engine.step()) {
  }
  std::vector<engine::Output> outputs;
  for (const base::SequenceId id : ids) {
    outputs.push_back(engine.output(id));
    engine.forget(id);
  }
  return outputs;
}

}  // namespace outrider::testing
