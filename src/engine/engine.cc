#include "engine/engine.h"

#include <algorithm>

#include "base/check.h"
#include "model/families.h"

namespace outrider::engine {
namespace {

base::Result<std::unique_ptr<draft::Drafter>> open_drafter(kernels::Executor& executor, const DraftPlan& plan,
                                                           const checkpoint::TensorSource* source,
                                                           const model::Model& target,
                                                           const OnProgress& on_progress) {
  if (const auto* ngram = std::get_if<draft::NgramPlan>(&plan.drafter)) {
    return std::unique_ptr<draft::Drafter>(std::make_unique<draft::NgramDrafter>(*ngram));
  }
  OUTRIDER_CHECK_MSG(source != nullptr, "a block drafter needs its weights");
  return draft::load_block_drafter(executor, std::get<draft::BlockPlan>(plan.drafter), *source, target,
                                   {.quantization = plan.quantization, .on_progress = on_progress});
}

// Rotary tables reach as far as any row, a draft block behind the last position included.
std::int64_t position_count(const EnginePlan& plan) { return plan.reachable_tokens() + 1; }

}  // namespace

Engine::Engine(EnginePlan plan)
    : plan_(std::move(plan)),
      executor_(plan_.target, plan_.thread_count, plan_.arithmetic),
      store_(plan_.cache),
      pool_(plan_.cache.block_count),
      plain_rules_{.method = plan_.accept} {}

Engine::~Engine() = default;

base::Result<std::unique_ptr<Engine>> Engine::open(EnginePlan plan, const checkpoint::TensorSource& source,
                                                   const checkpoint::TensorSource* draft_source,
                                                   const OnProgress& on_progress) {
  std::unique_ptr<Engine> engine(new Engine(std::move(plan)));
  const EnginePlan& made = engine->plan_;
  OUTRIDER_TRY(engine->model_,
               model::load_model(engine->executor_, made.shape, source,
                                 {.position_count = position_count(made),
                                  .load = {.quantization = made.quantization, .on_progress = on_progress}}));
  OUTRIDER_TRY_DONE(engine->add_drafter(draft_source, on_progress));
  return engine;
}

base::Result<std::unique_ptr<Engine>> Engine::open_on(std::shared_ptr<model::Model> model, EnginePlan plan,
                                                      const checkpoint::TensorSource* draft_source,
                                                      const OnProgress& on_progress) {
  std::unique_ptr<Engine> engine(new Engine(std::move(plan)));
  engine->model_ = std::move(model);
  OUTRIDER_TRY_DONE(engine->add_drafter(draft_source, on_progress));
  return engine;
}

base::Result<base::Done> Engine::add_drafter(const checkpoint::TensorSource* draft_source,
                                             const OnProgress& on_progress) {
  if (!plan_.draft) return base::Done{};
  OUTRIDER_TRY(drafter_, open_drafter(executor_, *plan_.draft, draft_source, *model_, on_progress));
  return base::Done{};
}

base::Result<base::SequenceId> Engine::submit(Request request, TokenSink* sink) {
  base::Inspector inspector;
  const auto vocabulary = plan_.shape.vocabulary;
  const auto prompt_count = static_cast<std::int64_t>(request.prompt.size());
  inspector.require(prompt_count > 0,
                    {.field = "prompt", .found = "", .rule = "must have at least one token", .remedy = ""});
  inspector.require(prompt_count < plan_.sequence_tokens_max,
                    {.field = "prompt",
                     .found = std::to_string(prompt_count) + " tokens",
                     .rule = "must leave room for one token within max_model_len = " +
                             std::to_string(plan_.sequence_tokens_max),
                     .remedy = "shorten it, or raise --max-model-len"});
  inspector.require(request.tokens_max > 0, {.field = "max_tokens",
                                             .found = std::to_string(request.tokens_max),
                                             .rule = "must be at least 1",
                                             .remedy = ""});
  for (const base::TokenId token : request.prompt) {
    if (token >= 0 && token < vocabulary) continue;
    inspector.report({.field = "prompt token id",
                      .found = std::to_string(token),
                      .rule = "must lie in the vocabulary, 0 to " + std::to_string(vocabulary - 1),
                      .remedy = ""});
    break;
  }
  decode::check_sampling(request.sampling, vocabulary, inspector);
  if (!inspector.clean()) return std::move(inspector).refuse();

  const base::SequenceId id{next_id_++};
  // What grows token by token has its room from the start, so that a steady step allocates nothing.
  const std::int64_t longest = std::min(plan_.sequence_tokens_max, prompt_count + request.tokens_max) +
                               (drafter_ ? drafter_->drafts_max() + 1 : 1);
  auto tokens = request.prompt;
  tokens.reserve(static_cast<std::size_t>(longest));
  decode::TokenHistory history(request.prompt);
  auto sequence =
      std::make_unique<Sequence>(Sequence{.id = id,
                                          .request = std::move(request),
                                          .sink = sink,
                                          .tokens = std::move(tokens),
                                          .table = cache::BlockTable(pool_, plan_.cache.block_tokens),
                                          .history = std::move(history)});
  sequence->table.expect(longest);
  sequence->output.tokens.reserve(static_cast<std::size_t>(longest));
  waiting_.push_back(std::move(sequence));
  if (drafter_) drafter_->begin(id);
  figures_.prompt_tokens += prompt_count;
  return id;
}

const Output& Engine::output(base::SequenceId id) const {
  for (const Sequences* sequences : {&running_, &waiting_}) {
    for (const auto& sequence : *sequences) {
      if (sequence->id == id) return sequence->output;
    }
  }
  return finished_.at(id)->output;
}

void Engine::forget(base::SequenceId id) { finished_.erase(id); }

std::int64_t Engine::computed_count(base::SequenceId id) const {
  for (const auto& sequence : running_) {
    if (sequence->id == id) return sequence->computed;
  }
  return 0;
}

std::vector<std::byte> Engine::state_bytes(base::SequenceId id, std::int64_t position) const {
  for (const auto& sequence : running_) {
    if (sequence->id != id) continue;
    OUTRIDER_CHECK(position < sequence->computed);
    std::vector<std::byte> bytes = store_.position_bytes(sequence->table.data(), position);
    if (drafter_) {
      const std::vector<std::byte> drafts = drafter_->state_bytes(id, position);
      bytes.insert(bytes.end(), drafts.begin(), drafts.end());
    }
    return bytes;
  }
  OUTRIDER_CHECK_MSG(false, "no running sequence of that id");
  return {};
}

}  // namespace outrider::engine
