#include "cli/generate_flags.h"

#include <algorithm>

#include "cli/engine_flags.h"
#include "cli/flag_reader.h"
#include "text/stream.h"

namespace outrider::cli {
namespace {

using base::Flag;
using base::FlagKind;

const std::vector<Flag> kFlags = {
    {"--model", FlagKind::Text, "DIR", "the target's checkpoint: a folder in Hugging Face's layout"},
    {"--speculative-config", FlagKind::Json, "JSON",
     "the drafter, e.g. {\"method\":\"dspark\",\"model\":\"DIR\",\"num_speculative_tokens\":7}; methods: "
     "dspark, dflash, ngram; also "
     "as --speculative-config.method dspark"},
    {"--prompt", FlagKind::Text, "TEXT",
     "a prompt; may be repeated, as may the next two: all run as one batch", true},
    {"--prompt-file", FlagKind::Text, "FILE", "a prompt from a file, as it stands", true},
    {"--prompt-ids", FlagKind::Text, "1,2,3", "a prompt as token ids", true},
    {"--chat", FlagKind::Switch, "", "wrap text prompts as one message of a chat (the ChatML form)"},
    {"--max-tokens", FlagKind::Integer, "N", "tokens to write at most (256, or what the model has room for)"},
    {"--temperature", FlagKind::Number, "T", "0 is greedy (0)"},
    {"--top-k", FlagKind::Integer, "K", "sample among the K likeliest tokens; 0 or -1: all (0)"},
    {"--top-p", FlagKind::Number, "P", "sample among the likeliest tokens that make up P (1)"},
    {"--min-p", FlagKind::Number, "P", "drop tokens below P times the likeliest one's probability (0)"},
    {"--repetition-penalty", FlagKind::Number, "R",
     "above 1: tokens of prompt and output become less likely (1)"},
    {"--presence-penalty", FlagKind::Number, "P", "taken from the logit of every token that was written (0)"},
    {"--frequency-penalty", FlagKind::Number, "F", "the same, times how often it was written (0)"},
    {"--logit-bias", FlagKind::Json, "JSON", "added to logits, by token id: {\"42\": -3.5}"},
    {"--seed", FlagKind::Integer, "N", "of sampling; the same seed gives the same text (0)"},
    {"--stop", FlagKind::Text, "TEXT", "end before this text; may be repeated", true},
    {"--ignore-eos", FlagKind::Switch, "", "go on past the end-of-text token"},
    {"--rejection-sample-method", FlagKind::Text, "NAME",
     "without a drafter: standard, or drafter_invariant, which draws as that verification does, so that a "
     "seed gives the text that it "
     "gives with any drafter (standard)"},
    {"--logprobs", FlagKind::Integer, "N",
     "with --json: each token's log-probability and the N likeliest (at most 20)"},
    {"--json", FlagKind::Switch, "", "print one JSON object instead of text"},
    {"--trace-rounds", FlagKind::Switch, "",
     "with --json: every draft-and-verify round, as verified: the last may reach behind the end of the text, "
     "as may the figures"},
    {"--adaptive", FlagKind::Switch, "",
     "let measured costs and estimated survival pick how many tokens to draft and verify, down to none (on "
     "with a drafter, but for "
     "--trace-rounds); --no-adaptive: always num_speculative_tokens"},
    {"--cost-curve", FlagKind::Text, "FILE",
     "what steps cost, for --adaptive (measured on first use and kept)"},
    {"--dtype", FlagKind::Text, "TYPE",
     "auto, float32 (strict, whatever the weights' type) or bfloat16 (auto: as the weights)"},
    {"--quantization", FlagKind::Text, "TYPE", "int8 or int4: quantise the target's weights while loading"},
    {"--kv-cache-dtype", FlagKind::Text, "TYPE", "auto, float32 or bfloat16 (auto: as the computation)"},
    {"--load-format", FlagKind::Text, "NAME",
     "auto, mmap, or dummy: random weights from a config.json alone (auto)"},
    {"--hf-overrides", FlagKind::Json, "JSON", "merged into the target's config.json (RFC 7386)"},
    {"--max-model-len", FlagKind::Integer, "N", "longest sequence (the model's positions)"},
    {"--max-num-batched-tokens", FlagKind::Integer, "N",
     "rows of one step; longer prompts run in chunks (2048)"},
    {"--max-num-seqs", FlagKind::Integer, "N", "prompts that run at the same time (all)"},
    {"--block-size", FlagKind::Integer, "N", "tokens in a block of the key-value cache (16)"},
    {"--num-threads", FlagKind::Integer, "N", "threads (the machine's cores)"},
    {"--kernel-target", FlagKind::Text, "NAME", "reference, avx2 or avx512 (the best that the machine has)"},
};

void read_sampling(const base::FlagValues& values, FlagReader& reader, base::Inspector& inspector,
                   decode::SamplingParams& sampling) {
  reader.number("--temperature", sampling.temperature);
  reader.number("--top-p", sampling.top_p);
  reader.number("--min-p", sampling.min_p);
  reader.number("--repetition-penalty", sampling.repetition_penalty);
  reader.number("--presence-penalty", sampling.presence_penalty);
  reader.number("--frequency-penalty", sampling.frequency_penalty);
  sampling.top_k = values.integer("--top-k").value_or(0);
  sampling.seed = static_cast<std::uint64_t>(reader.integer("--seed", 0, INT64_MAX).value_or(0));
  if (const base::Json* bias = values.json("--logit-bias")) {
    auto parsed = decode::parse_logit_bias(*bias, "--logit-bias");
    if (parsed.ok()) {
      sampling.logit_bias = std::move(parsed).value();
    } else {
      inspector.report_all(std::move(parsed).error());
    }
  }
}

// Forced acceptance says nothing about a text.
void refuse_synthetic(const engine::EngineSettings& settings, FlagReader& reader) {
  if (settings.accept == decode::AcceptMethod::Synthetic) {
    reader.problem("--rejection-sample-method", "synthetic",
                   "is for measuring, and only outrider bench takes it");
  }
  if (settings.speculative && settings.speculative->accept == decode::AcceptMethod::Synthetic) {
    reader.problem("--speculative-config rejection_sample_method", "synthetic",
                   "is for measuring: its text is worthless, and only outrider bench takes it");
  }
}

}  // namespace

std::span<const base::Flag> generate_flags() { return kFlags; }

GenerateOptions parse_generate(std::span<const std::string> words, base::Inspector& inspector) {
  const base::FlagValues values = base::parse_flags(words, kFlags, inspector);
  FlagReader reader(values, inspector);
  GenerateOptions options{.engine = {.target = kernels::best_target(), .thread_count = 1}};
  for (const std::string& word : values.positionals())
    reader.problem("argument", word, "is no flag; prompts come as --prompt TEXT");
  if (const std::string* model = values.text("--model")) {
    options.model = *model;
  } else {
    reader.problem("--model", "", "is needed: the folder of a checkpoint");
  }
  for (const base::FlagUse& use : values.uses()) {
    if (use.name == "--prompt") options.prompts.push_back({PromptKind::Text, use.value});
    if (use.name == "--prompt-file") options.prompts.push_back({PromptKind::File, use.value});
    if (use.name == "--prompt-ids") options.prompts.push_back({PromptKind::Ids, use.value});
    if (use.name == "--stop") options.stops.push_back(use.value);
  }
  if (options.prompts.empty()) reader.problem("--prompt", "", "is needed (or --prompt-file, --prompt-ids)");
  text::check_stops(options.stops, "--stop", inspector);
  options.chat = values.boolean("--chat").value_or(false);
  options.ignore_eos = values.boolean("--ignore-eos").value_or(false);
  options.json = values.boolean("--json").value_or(false);
  options.trace_rounds = values.boolean("--trace-rounds").value_or(false);
  options.adaptive = values.boolean("--adaptive");
  if (const std::string* file = values.text("--cost-curve")) options.cost_curve = *file;
  options.tokens_max = reader.integer("--max-tokens", 1, INT32_MAX);
  if (const auto count = reader.integer("--logprobs", 0, 20)) options.logprobs = static_cast<int>(*count);
  if (options.trace_rounds && !options.json) reader.problem("--trace-rounds", "", "needs --json");
  if (options.logprobs && !options.json)
    reader.problem("--logprobs", std::to_string(*options.logprobs), "needs --json");
  read_sampling(values, reader, inspector, options.sampling);
  decode::check_sampling(options.sampling, INT32_MAX, inspector);  // the vocabulary comes with the model
  EngineFlags engine = read_engine_flags(values, inspector, std::max<std::size_t>(1, options.prompts.size()));
  options.load_format = engine.load_format;
  options.overrides = std::move(engine.overrides);
  options.draft_model = std::move(engine.draft_model);
  options.engine = std::move(engine.settings);
  refuse_synthetic(options.engine, reader);
  if (options.cost_curve && (!options.engine.speculative || options.adaptive == false)) {
    reader.problem("--cost-curve", *options.cost_curve, "has a meaning with a drafter and --adaptive only");
  }
  return options;
}

}  // namespace outrider::cli
