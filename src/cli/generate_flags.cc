#include "cli/generate_flags.h"

#include <algorithm>

#include "cli/flag_reader.h"
#include "cli/start.h"
#include "text/stream.h"

namespace outrider::cli {
namespace {

using base::Flag;
using base::FlagKind;

// Its own; what runs, and how, are the planner's flags.
const std::vector<Flag> kOwnFlags = {
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
    {"--stop", FlagKind::Text, "TEXT", "end before this text; may be repeated", true},
    {"--ignore-eos", FlagKind::Switch, "", "go on past the end-of-text token"},
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
  if (const base::Json* bias = values.json("--logit-bias")) {
    auto parsed = decode::parse_logit_bias(*bias, "--logit-bias");
    if (parsed.ok()) {
      sampling.logit_bias = std::move(parsed).value();
    } else {
      inspector.report_all(std::move(parsed).error());
    }
  }
}

}  // namespace

std::span<const base::Flag> generate_flags() {
  static const std::vector<Flag> flags = [] {
    std::vector<Flag> all = plan::intent_flags(plan::Use::Generate);
    all.insert(all.begin() + 2, kOwnFlags.begin(), kOwnFlags.end());  // behind the model and the drafter
    return all;
  }();
  return flags;
}

GenerateOptions parse_generate(std::span<const std::string> words, base::Inspector& inspector) {
  const base::FlagValues values = base::parse_flags(words, generate_flags(), inspector);
  FlagReader reader(values, inspector);
  GenerateOptions options;
  options.command = plan::read_intent(values, plan::Use::Generate);
  for (const plan::Problem& problem : options.command.problems) inspector.report(typed(problem));
  for (const std::string& word : values.positionals())
    reader.problem("argument", word, "is no flag; prompts come as --prompt TEXT");
  if (!values.has("--model")) reader.problem("--model", "", "is needed: the folder of a checkpoint");
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
  if (options.adaptive == true && !options.command.intent.draft)
    reader.problem("--adaptive", "", "has a meaning with a drafter only");
  if (options.cost_curve && (!options.command.intent.draft || options.adaptive == false)) {
    reader.problem("--cost-curve", *options.cost_curve, "has a meaning with a drafter and --adaptive only");
  }
  return options;
}

}  // namespace outrider::cli
