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
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/start.h"
#include "engine/derive_engine_plan.h"
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
  Files files;
  std::optional<text::Tokenizer> tokenizer;
};

// A tokenizer is needed for text only: prompts given as ids run without one.
base::Result<base::Done> add_tokenizer(const GenerateOptions& options, Loaded& loaded) {
  const std::string& model = options.command.intent.model;
  auto tokenizer = cli::open_tokenizer(model);
  if (tokenizer.ok()) {
    loaded.tokenizer = std::move(tokenizer).value();
    return text::check_vocab_size(*loaded.tokenizer, loaded.files.target.shape.vocabulary,
                                  model + "/config.json");
  }
  const bool has_file = ::access((model + "/tokenizer.json").c_str(), F_OK) == 0;
  if (has_file) return std::move(tokenizer).error();
  const bool text_needed =
      !options.stops.empty() || std::any_of(options.prompts.begin(), options.prompts.end(),
                                            [](const PromptSource& p) { return p.kind != PromptKind::Ids; });
  if (text_needed) {
    return base::refuse({.field = "--model " + model,
                         .found = "",
                         .rule = "has no tokenizer.json, which prompts and stops as text need",
                         .remedy = "give --prompt-ids"});
  }
  return base::Done{};
}

// "--prompt-file 2": which prompt of those given, and how it was given.
std::string name_of(const PromptSource& prompt, std::size_t index) {
  const char* flag = prompt.kind == PromptKind::Text   ? "--prompt"
                     : prompt.kind == PromptKind::File ? "--prompt-file"
                                                       : "--prompt-ids";
  return std::string(flag) + " (prompt " + std::to_string(index + 1) + ")";
}

// Every word that is no id of the vocabulary.
void read_ids(const std::string& text, std::int64_t vocabulary, const std::string& name,
              std::vector<base::TokenId>& ids, base::Inspector& inspector) {
  for (std::size_t first = 0; first <= text.size();) {
    const std::size_t comma = std::min(text.find(',', first), text.size());
    const std::string word = text.substr(first, comma - first);
    const auto id = base::parse_integer(word);
    if (id && *id >= 0 && *id < vocabulary) {
      ids.push_back(static_cast<base::TokenId>(*id));
    } else {
      inspector.report({.field = name,
                        .found = base::printable(word),
                        .rule = "must be a token id, 0 to " + std::to_string(vocabulary - 1) +
                                ", with commas between: 1,2,3",
                        .remedy = ""});
    }
    first = comma + 1;
  }
}

base::Result<std::vector<base::TokenId>> encode_text(const GenerateOptions& options,
                                                     const PromptSource& prompt,
                                                     const text::Tokenizer& tokenizer) {
  std::string text = prompt.value;
  if (prompt.kind == PromptKind::File) {
    OUTRIDER_TRY(text, base::read_text_file(prompt.value));
  }
  if (options.chat) {
    OUTRIDER_TRY(text, text::render_chatml(tokenizer, text));
  }
  return tokenizer.encode(text, /*special=*/!options.chat);
}

using Prompts = std::vector<std::vector<base::TokenId>>;

// All problems of all prompts, each with the prompt's number.
Prompts encode_prompts(const GenerateOptions& options, const Loaded& loaded, base::Inspector& inspector) {
  Prompts prompts;
  for (std::size_t i = 0; i < options.prompts.size(); ++i) {
    const PromptSource& prompt = options.prompts[i];
    const std::string name = name_of(prompt, i);
    std::vector<base::TokenId>& ids = prompts.emplace_back();
    if (prompt.kind == PromptKind::Ids) {
      read_ids(prompt.value, loaded.files.target.shape.vocabulary, name, ids, inspector);
      continue;
    }
    auto encoded = encode_text(options, prompt, *loaded.tokenizer);
    if (!encoded.ok()) {
      for (base::Problem problem : encoded.error().problems) {
        problem.field = name + ": " + problem.field;
        inspector.report(std::move(problem));
      }
    } else if (encoded->empty()) {
      inspector.report(
          {.field = name, .found = "\"\"", .rule = "must have at least one token", .remedy = ""});
    } else {
      ids = std::move(*encoded);
    }
  }
  return prompts;
}

// What a planner needs to know of them: how long they can get.
std::vector<plan::KnownRequest> known_requests(const GenerateOptions& options, const Prompts& prompts) {
  std::vector<plan::KnownRequest> known;
  for (const auto& prompt : prompts) {
    known.push_back({.prompt_tokens = static_cast<std::int64_t>(prompt.size()),
                     .output_tokens = options.tokens_max.value_or(kDefaultTokensMax)});
  }
  return known;
}

// Every prompt's request; all problems of all prompts.
base::Result<std::vector<engine::Request>> build_requests(const GenerateOptions& options,
                                                          const Loaded& loaded, const plan::Plan& plan,
                                                          Prompts prompts) {
  base::Inspector inspector;
  std::vector<engine::Request> requests;
  const std::int64_t longest = plan.target.settings.max_model_len.value_or(1);
  decode::SamplingParams sampling = options.sampling;
  sampling.seed = static_cast<std::uint64_t>(plan.target.settings.seed);
  decode::check_sampling(sampling, loaded.files.target.shape.vocabulary, inspector);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const std::string name = name_of(options.prompts[i], i);
    const auto count = static_cast<std::int64_t>(prompts[i].size());
    const std::int64_t room = longest - count;
    inspector.require(
        room > 0, {.field = name,
                   .found = std::to_string(count) + " tokens",
                   .rule = "must leave room for one token within max_model_len = " + std::to_string(longest),
                   .remedy = "shorten it, or raise --max-model-len"});
    if (options.tokens_max && *options.tokens_max > room && room > 0) {
      inspector.report({.field = "--max-tokens",
                        .found = std::to_string(*options.tokens_max),
                        .rule = "must not exceed the " + std::to_string(room) + " tokens that " + name +
                                " with " + std::to_string(count) +
                                " leaves of max_model_len = " + std::to_string(longest),
                        .remedy = ""});
    }
    requests.push_back(
        {.prompt = std::move(prompts[i]),
         .sampling = sampling,
         .tokens_max =
             options.tokens_max.value_or(std::max<std::int64_t>(1, std::min(kDefaultTokensMax, room))),
         .stop_tokens = options.ignore_eos ? std::vector<base::TokenId>{} : loaded.files.target.end_token_ids,
         .logprobs = options.logprobs,
         .trace_rounds = options.trace_rounds});
  }
  if (!inspector.clean()) return std::move(inspector).refuse();
  return requests;
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

base::Result<std::unique_ptr<engine::Engine>> open_engine(const Files& files, const plan::Plan& plan) {
  std::optional<checkpoint::DrafterShape> drafter;
  if (files.drafter) drafter = files.drafter->shape;
  ProgressBar bar("loading", stored_bytes(files.target.shape));
  return engine::Engine::open(engine::derive_engine_plan(plan, files.target.shape, drafter),
                              *files.target.weights, files.drafter ? files.drafter->weights.get() : nullptr,
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
  OUTRIDER_TRY(Files files, open_files(options.command));
  Loaded loaded{.files = std::move(files), .tokenizer = {}};
  OUTRIDER_TRY_DONE(add_tokenizer(options, loaded));
  base::Inspector inspector;
  Prompts prompts = encode_prompts(options, loaded, inspector);
  options.command.intent.requests = known_requests(options, prompts);
  base::Result<plan::Plan> planned = plan_run(options.command.intent, loaded.files.facts);
  if (!planned.ok()) inspector.report_all(std::move(planned).error());
  if (!inspector.clean()) return std::move(inspector).refuse();
  OUTRIDER_TRY(std::vector<engine::Request> requests,
               build_requests(options, loaded, *planned, std::move(prompts)));
  OUTRIDER_TRY(const std::unique_ptr<engine::Engine> engine, open_engine(loaded.files, *planned));
  if (engine->drafter() != nullptr && options.adaptive.value_or(!options.trace_rounds)) {
    OUTRIDER_TRY(schedule::StepCosts costs, load_costs(*engine, options.cost_curve));
    engine->adapt(std::move(costs));
  }
  return run_requests(*engine, options, loaded, std::move(requests));
}

}  // namespace

int run_generate(std::span<const std::string> words) {
  if (printed_help(words, "generate --model DIR [--speculative-config JSON] --prompt TEXT [flags]",
                   "Writes text from prompts. With a drafter the text is exactly what the target alone "
                   "writes, sooner.",
                   generate_flags(), plan::speculative_keys_help(plan::Use::Generate))) {
    return kDone;
  }
  base::Inspector inspector;
  const GenerateOptions options = parse_generate(words, inspector);
  if (!inspector.clean()) {
    judge_rest(options.command, inspector);
    return print_refusal(std::move(inspector).refuse());
  }
  auto exit_code = generate(options);
  return exit_code.ok() ? *exit_code : print_refusal(exit_code.error());
}

}  // namespace outrider::cli
