// outrider generate: prompts in, text out as it comes, one line of figures at the end.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/strings.h"
#include "checkpoint/hf_config.h"
#include "cli/commands.h"
#include "cli/cost_file.h"
#include "cli/generate_flags.h"
#include "cli/open_tokenizer.h"
#include "cli/plan_engine.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "engine/engine.h"
#include "text/chat.h"
#include "text/stream.h"

namespace outrider::cli {
namespace {

constexpr std::int64_t kDefaultTokensMax = 256;

// Text of one sequence: printed at once while it is the sequence whose turn it is, else kept.
class TextSink final : public engine::TokenSink {
 public:
  TextSink(const std::optional<text::Tokenizer>& tokenizer, const GenerateOptions& options) {
    if (tokenizer)
      stream_.emplace(*tokenizer, text::StreamOptions{.skip_special = true, .stops = options.stops});
  }

  Answer on_tokens(std::span<const base::TokenId> tokens) override {
    if (!stream_) return {.kept = tokens.size(), .stop = false};
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const text::TextStream::Chunk chunk = stream_->push(tokens[i]);
      take(chunk.text);
      if (chunk.stopped) return {.kept = i + 1, .stop = true};
    }
    return {.kept = tokens.size(), .stop = false};
  }
  void finish() {
    if (stream_) take(stream_->flush());
  }
  // From now on text goes to stdout as it comes, beginning with what was kept.
  void show() {
    shown_ = true;
    print(text_);
  }
  const std::string& text() const { return text_; }

 private:
  void take(const std::string& text) {
    text_ += text;
    if (shown_) print(text);
  }
  static void print(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
  std::optional<text::TextStream> stream_;
  std::string text_;
  bool shown_ = false;
};

struct Loaded {
  checkpoint::OpenedModel target;
  std::optional<checkpoint::OpenedDrafter> drafter;
  std::optional<text::Tokenizer> tokenizer;
};

void print_warning(const std::string& text) { std::fprintf(stderr, "warning: %s\n", text.c_str()); }

// A tokenizer is needed for text only: prompts given as ids run without one.
base::Result<base::Done> add_tokenizer(const GenerateOptions& options, Loaded& loaded) {
  auto tokenizer = cli::open_tokenizer(options.model);
  if (tokenizer.ok()) {
    loaded.tokenizer = std::move(tokenizer).value();
    return text::check_vocab_size(*loaded.tokenizer, loaded.target.shape.vocabulary,
                                  options.model + "/config.json");
  }
  const bool has_file = ::access((options.model + "/tokenizer.json").c_str(), F_OK) == 0;
  if (has_file) return std::move(tokenizer).error();
  const bool text_needed =
      !options.stops.empty() || std::any_of(options.prompts.begin(), options.prompts.end(),
                                            [](const PromptSource& p) { return p.kind != PromptKind::Ids; });
  if (text_needed) {
    return base::refuse({.field = options.model,
                         .found = "",
                         .rule = "has no tokenizer.json, which prompts and stops as text need",
                         .remedy = "give --prompt-ids"});
  }
  return base::Done{};
}

base::Result<Loaded> open_checkpoints(const GenerateOptions& options) {
  const checkpoint::OpenOptions open{.load_format = options.load_format,
                                     .overrides = options.overrides ? &*options.overrides : nullptr};
  OUTRIDER_TRY(checkpoint::OpenedModel target, checkpoint::open_model(options.model, open, print_warning));
  Loaded loaded{.target = std::move(target), .drafter = {}, .tokenizer = {}};
  if (options.draft_model) {
    const checkpoint::OpenOptions draft_open{.load_format = options.load_format};
    OUTRIDER_TRY(loaded.drafter, checkpoint::open_drafter(*options.draft_model, loaded.target.shape,
                                                          draft_open, print_warning));
  }
  OUTRIDER_TRY_DONE(add_tokenizer(options, loaded));
  return loaded;
}

base::Result<std::vector<base::TokenId>> parse_ids(const std::string& text) {
  std::vector<base::TokenId> ids;
  for (std::size_t first = 0; first <= text.size();) {
    const std::size_t comma = std::min(text.find(',', first), text.size());
    const auto id = base::parse_integer(std::string_view(text).substr(first, comma - first));
    if (!id || *id < 0 || *id > INT32_MAX) {
      return base::refuse({.field = "--prompt-ids",
                           .found = base::printable(text),
                           .rule = "must be token ids with commas between: 1,2,3",
                           .remedy = ""});
    }
    ids.push_back(static_cast<base::TokenId>(*id));
    first = comma + 1;
  }
  return ids;
}

base::Result<std::vector<base::TokenId>> encode_prompt(const GenerateOptions& options,
                                                       const PromptSource& prompt, const Loaded& loaded) {
  if (prompt.kind == PromptKind::Ids) return parse_ids(prompt.value);
  std::string text = prompt.value;
  if (prompt.kind == PromptKind::File) {
    OUTRIDER_TRY(text, base::read_text_file(prompt.value));
  }
  if (options.chat) {
    OUTRIDER_TRY(text, text::render_chatml(*loaded.tokenizer, text));
  }
  auto ids = loaded.tokenizer->encode(text, /*special=*/!options.chat);
  if (ids.ok() && ids->empty()) {
    return base::refuse(
        {.field = "--prompt", .found = "\"\"", .rule = "must have at least one token", .remedy = ""});
  }
  return ids;
}

// Every prompt's request; all problems of all prompts.
base::Result<std::vector<engine::Request>> build_requests(const GenerateOptions& options,
                                                          const Loaded& loaded) {
  base::Inspector inspector;
  std::vector<engine::Request> requests;
  const std::int64_t longest = options.engine.sequence_tokens_max.value_or(loaded.target.shape.positions_max);
  for (const PromptSource& prompt : options.prompts) {
    auto ids = encode_prompt(options, prompt, loaded);
    if (!ids.ok()) {
      inspector.report_all(std::move(ids).error());
      continue;
    }
    const std::int64_t room = longest - static_cast<std::int64_t>(ids->size());
    if (options.tokens_max && *options.tokens_max > room && room > 0) {
      inspector.report({.field = "--max-tokens",
                        .found = std::to_string(*options.tokens_max),
                        .rule = "must not exceed the " + std::to_string(room) + " tokens that a prompt of " +
                                std::to_string(ids->size()) +
                                " leaves of max_model_len = " + std::to_string(longest),
                        .remedy = ""});
    }
    requests.push_back(
        {.prompt = std::move(*ids),
         .sampling = options.sampling,
         .tokens_max =
             options.tokens_max.value_or(std::max<std::int64_t>(1, std::min(kDefaultTokensMax, room))),
         .stop_tokens = options.ignore_eos ? std::vector<base::TokenId>{} : loaded.target.end_token_ids,
         .logprobs = options.logprobs,
         .trace_rounds = options.trace_rounds});
  }
  if (!inspector.clean()) return std::move(inspector).refuse();
  return requests;
}

// Room for every sequence from its first token to its last, and for a round of drafts behind it.
std::int64_t cache_tokens(const std::vector<engine::Request>& requests,
                          const engine::EngineSettings& settings, std::int64_t longest) {
  const std::int64_t drafts = settings.speculative ? settings.speculative->draft_tokens.value_or(64) + 1 : 0;
  std::int64_t tokens = 0;
  for (const engine::Request& request : requests) {
    const std::int64_t most =
        std::min(longest, static_cast<std::int64_t>(request.prompt.size()) + request.tokens_max + drafts);
    tokens += cache::blocks_for(most, settings.block_tokens) * settings.block_tokens + settings.block_tokens;
  }
  return tokens;
}

// About what loading will read: for the bar.
std::int64_t stored_bytes(const checkpoint::ModelShape& shape) {
  std::int64_t elements = 0;
  for (const checkpoint::TensorSpec& spec : checkpoint::expected_tensors(shape)) {
    std::int64_t count = spec.optional ? 0 : 1;
    for (const std::int64_t dimension : spec.shape) count *= dimension;
    elements += count;
  }
  return elements * tensor::bits_of(shape.weight_dtype) / 8;
}

base::Result<std::unique_ptr<engine::Engine>> open_engine(const GenerateOptions& options,
                                                          const Loaded& loaded,
                                                          const std::vector<engine::Request>& requests) {
  engine::EngineSettings settings = options.engine;
  const std::int64_t longest = settings.sequence_tokens_max.value_or(loaded.target.shape.positions_max);
  settings.cache_tokens = cache_tokens(requests, settings, longest);
  std::optional<checkpoint::DrafterShape> drafter;
  if (loaded.drafter) drafter = loaded.drafter->shape;
  OUTRIDER_TRY(engine::EnginePlan plan, engine::derive_engine_plan(settings, loaded.target.shape, drafter));
  ProgressBar bar("loading", stored_bytes(loaded.target.shape));
  return engine::Engine::open(std::move(plan), *loaded.target.weights,
                              loaded.drafter ? loaded.drafter->weights.get() : nullptr,
                              [&](std::int64_t bytes) { bar.show(bytes); });
}

// Runs all requests; texts appear in the order of the prompts.
base::Result<int> run_requests(engine::Engine& engine, const GenerateOptions& options, const Loaded& loaded,
                               std::vector<engine::Request> requests) {
  std::vector<std::unique_ptr<TextSink>> sinks;
  std::vector<base::SequenceId> ids;
  std::vector<SequenceReport> reports;
  for (engine::Request& request : requests) {
    sinks.push_back(std::make_unique<TextSink>(loaded.tokenizer, options));
    reports.push_back({.prompt = request.prompt, .output = {}, .text = {}});
    OUTRIDER_TRY(const base::SequenceId id, engine.submit(std::move(request), sinks.back().get()));
    ids.push_back(id);
  }
  std::size_t turn = 0;
  if (!options.json) sinks[0]->show();
  bool failed = false;
  while (engine.step()) {
    while (turn < ids.size()) {
      const engine::Output& output = engine.output(ids[turn]);
      if (!output.finish && output.error.empty()) break;
      sinks[turn]->finish();
      if (!output.error.empty())
        std::fprintf(stderr, "failed: prompt %zu: %s\n", turn + 1, output.error.c_str());
      failed = failed || !output.error.empty();
      reports[turn].output = output;
      reports[turn].text = sinks[turn]->text();
      if (!options.json) std::printf("\n");
      if (++turn < ids.size() && !options.json) sinks[turn]->show();
    }
  }
  if (options.json) {
    std::printf("%s\n",
                json_report(reports, engine.figures(),
                            {.logprobs = options.logprobs.has_value(), .rounds = options.trace_rounds})
                    .c_str());
  }
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", figures_line(engine.figures()).c_str());
  return failed ? kFailed : kDone;
}

base::Result<int> generate(GenerateOptions options) {
  OUTRIDER_TRY(const Loaded loaded, open_checkpoints(options));
  OUTRIDER_TRY(EngineFlags planned, plan_engine(options.model, {.settings = options.engine,
                                                                .load_format = options.load_format,
                                                                .overrides = options.overrides,
                                                                .draft_model = options.draft_model}));
  options.engine = std::move(planned.settings);
  base::Inspector inspector;
  decode::check_sampling(options.sampling, loaded.target.shape.vocabulary, inspector);
  auto requests = build_requests(options, loaded);
  if (!requests.ok()) inspector.report_all(std::move(requests).error());
  if (!inspector.clean()) return std::move(inspector).refuse();
  OUTRIDER_TRY(const std::unique_ptr<engine::Engine> engine, open_engine(options, loaded, *requests));
  if (engine->drafter() != nullptr && options.adaptive.value_or(!options.trace_rounds)) {
    OUTRIDER_TRY(schedule::StepCosts costs, load_costs(*engine, options.cost_curve));
    engine->adapt(std::move(costs));
  }
  return run_requests(*engine, options, loaded, std::move(*requests));
}

}  // namespace

int run_generate(std::span<const std::string> words) {
  if (printed_help(words, "generate --model DIR [--speculative-config JSON] --prompt TEXT [flags]",
                   "Writes text from prompts. With a drafter the text is exactly what the target alone "
                   "writes, sooner.",
                   generate_flags())) {
    return kDone;
  }
  base::Inspector inspector;
  const GenerateOptions options = parse_generate(words, inspector);
  if (!inspector.clean()) return print_refusal(std::move(inspector).refuse());
  auto exit_code = generate(options);
  return exit_code.ok() ? *exit_code : print_refusal(exit_code.error());
}

}  // namespace outrider::cli
