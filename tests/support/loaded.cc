#include "support/loaded.h"

#include <gtest/gtest.h>

#include "base/result.h"
#include "engine/derive_engine_plan.h"

namespace outrider::testing {

plan::Intent float32_settings() {
  plan::Intent intent;
  intent.use = plan::Use::Bench;
  intent.target.dtype = "float32";
  intent.target.num_threads = 1;
  return intent;
}

plan::AskedDraft drafting(std::optional<std::int64_t> drafts) {
  plan::AskedDraft draft;
  draft.num_speculative_tokens = drafts;
  return draft;
}

namespace {

template <class T>
T take(base::Result<T> result) {
  OUTRIDER_CHECK_MSG(result.ok(), result.ok() ? "" : base::to_string(result.error()));
  return std::move(result).value();
}

plan::Machine machine_here() {
  plan::Machine machine;
  machine.kernel_targets.emplace();
  for (const kernels::Target target : kernels::available_targets())
    machine.kernel_targets->emplace_back(kernels::name_of(target));
  return machine;
}

}  // namespace

Loaded load(const std::string& target_path, const std::string& drafter_path, plan::Intent settings) {
  const checkpoint::OpenOptions options;
  const auto warn = [](const std::string&) {};
  Loaded loaded{
      .target = take(checkpoint::open_model(target_path, options, warn)), .drafter = {}, .engine = {}};
  settings.model = target_path;
  plan::ModelsFacts facts{.target = take(checkpoint::parse_facts(loaded.target.config, target_path)),
                          .draft = std::nullopt};
  std::optional<checkpoint::DrafterShape> shape;
  if (settings.draft && settings.draft->method != "ngram") {
    settings.draft->model = drafter_path;
    loaded.drafter = take(checkpoint::open_drafter(drafter_path, loaded.target.shape, options, warn));
    shape = loaded.drafter->shape;
    facts.draft = take(checkpoint::parse_facts(loaded.drafter->config, drafter_path));
  }
  const auto plan = plan::plan(settings, facts, machine_here());
  OUTRIDER_CHECK_MSG(plan.ok(), plan.ok() ? "" : plan.error().problems.front().message);
  loaded.engine = take(engine::Engine::open(engine::derive_engine_plan(*plan, loaded.target.shape, shape),
                                            *loaded.target.weights,
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
