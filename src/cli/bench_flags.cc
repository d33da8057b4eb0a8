#include "cli/bench_flags.h"

#include <algorithm>

#include "cli/flag_reader.h"
#include "cli/start.h"

namespace outrider::cli {
namespace {

using base::Flag;
using base::FlagKind;

const std::vector<Flag> kOwnFlags = {
    {"--only", FlagKind::Text, "LIST",
     "parts, with commas between: machine, decode, verify, prefill, moe, draft, speculate, accuracy (all "
     "that "
     "what is given allows)"},
    {"--json", FlagKind::Switch, "", "print one JSON object instead of a table"},
    {"--compare", FlagKind::Text, "FILE", "an older run's JSON: show ratios, mark what got slower"},
    {"--repeats", FlagKind::Integer, "N", "repeats of each measurement (7)"},
    {"--part-seconds", FlagKind::Number, "S", "a part makes fewer repeats rather than take longer (60)"},
    {"--probe-seconds", FlagKind::Number, "S", "length of each probe of the machine (0.2)"},
    {"--context", FlagKind::Integer, "N", "positions in the cache before the rows that are measured (128)"},
    {"--decode-tokens", FlagKind::Integer, "N", "tokens of each repeat of decode (16)"},
    {"--rows", FlagKind::Text, "LIST", "row counts of verify and moe (1,2,4,6,8,12,16)"},
    {"--prefill", FlagKind::Text, "LIST", "prompt lengths of prefill (128,512,2048)"},
    {"--prompts", FlagKind::Text, "FILE",
     "of speculate: JSON with cases of kind and prompt_token_ids (one prompt of random tokens)"},
    {"--max-tokens", FlagKind::Integer, "N", "of speculate: tokens to write for each prompt (128)"},
    {"--text", FlagKind::Text, "FILE", "of accuracy: a text that the model was not trained on"},
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> words;
  for (std::size_t first = 0; first <= list.size();) {
    const std::size_t comma = std::min(list.find(',', first), list.size());
    words.push_back(list.substr(first, comma - first));
    first = comma + 1;
  }
  return words;
}

template <class Number>
void read_counts(const base::FlagValues& values, FlagReader& reader, const char* flag, std::int64_t most,
                 std::vector<Number>& into) {
  const std::string* text = values.text(flag);
  if (text == nullptr) return;
  into.clear();
  for (const std::string& word : split(*text)) {
    const auto number = base::parse_integer(word);
    if (!number || *number < 1 || *number > most) {
      return reader.problem(flag, *text,
                            "must be integers from 1 to " + std::to_string(most) + " with commas between");
    }
    into.push_back(static_cast<Number>(*number));
  }
}

void read_parts(const base::FlagValues& values, FlagReader& reader, BenchOptions& options) {
  const std::string* text = values.text("--only");
  using bench::Part;
  if (text == nullptr) {
    options.settings.parts = {Part::Machine};
    if (!options.has_model()) return;
    for (const Part part : {Part::Decode, Part::Verify, Part::Prefill, Part::Moe})
      options.settings.parts.push_back(part);
    if (!options.command.intent.draft) return;
    if (options.has_draft_model()) options.settings.parts.push_back(Part::Draft);
    options.settings.parts.push_back(Part::Speculate);
    return;
  }
  std::string names;
  for (const bench::PartRow& row : bench::kParts)
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  for (const std::string& word : split(*text)) {
    const auto row = std::find_if(std::begin(bench::kParts), std::end(bench::kParts),
                                  [&](const bench::PartRow& r) { return word == r.name; });
    if (row == std::end(bench::kParts)) {
      reader.problem("--only", word, "is no part; the parts are " + names);
      continue;
    }
    options.settings.parts.push_back(row->part);
  }
}

bool asks_for(const BenchOptions& options, bench::Part part) {
  const std::vector<bench::Part>& parts = options.settings.parts;
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

void check_needs(const BenchOptions& options, FlagReader& reader) {
  using bench::Part;
  if (!options.has_model() && options.settings.parts != std::vector{Part::Machine}) {
    reader.problem("--model", "", "is needed for all parts but machine: the folder of a checkpoint");
  }
  if (asks_for(options, Part::Draft) && !options.has_draft_model()) {
    reader.problem("--speculative-config", "", "with a model is needed for the part draft");
  }
  if (asks_for(options, Part::Speculate) && !options.command.intent.draft) {
    reader.problem("--speculative-config", "", "is needed for the part speculate");
  }
  if (asks_for(options, Part::Accuracy) != options.text.has_value()) {
    reader.problem("--text", options.text.value_or(""), "and the part accuracy need each other");
  }
}

}  // namespace

std::span<const Flag> bench_flags() {
  static const std::vector<Flag> flags = [] {
    std::vector<Flag> all = kOwnFlags;
    for (Flag& flag : plan::intent_flags(plan::Use::Bench)) all.push_back(std::move(flag));
    return all;
  }();
  return flags;
}

BenchOptions parse_bench(std::span<const std::string> words, base::Inspector& inspector) {
  const base::FlagValues values = base::parse_flags(words, bench_flags(), inspector);
  FlagReader reader(values, inspector);
  BenchOptions options{.command = plan::read_intent(values, plan::Use::Bench), .settings = {}};
  for (const plan::Problem& problem : options.command.problems) inspector.report(typed(problem));
  for (const std::string& word : values.positionals()) reader.problem("argument", word, "is no flag");
  const auto keep = [&](const char* flag, std::optional<std::string>& into) {
    if (const std::string* text = values.text(flag)) into = *text;
  };
  keep("--compare", options.compare);
  keep("--prompts", options.prompts);
  keep("--text", options.text);
  options.json = values.boolean("--json").value_or(false);
  bench::Settings& settings = options.settings;
  settings.repeats = static_cast<int>(reader.integer("--repeats", 1, 10000).value_or(settings.repeats));
  settings.context = reader.integer("--context", 1, 1 << 20).value_or(settings.context);
  settings.decode_tokens = reader.integer("--decode-tokens", 1, 1 << 20).value_or(settings.decode_tokens);
  settings.output_tokens = reader.integer("--max-tokens", 2, 1 << 20).value_or(settings.output_tokens);
  for (const auto& [flag, into] : {std::pair{"--part-seconds", &settings.part_seconds},
                                   std::pair{"--probe-seconds", &settings.probe_seconds}}) {
    reader.number(flag, *into);
    if (!(*into >= 0 && *into <= 86400))
      reader.problem(flag, base::to_text(*into), "must be from 0 to 86400 seconds");
  }
  read_counts(values, reader, "--rows", 4096, settings.verify_rows);
  read_counts(values, reader, "--prefill", 1 << 20, settings.prefill_tokens);
  read_parts(values, reader, options);
  check_needs(options, reader);
  return options;
}

base::Result<std::vector<bench::Prompt>> parse_prompts(const base::Json& json, const std::string& source) {
  const auto fault = [&](const std::string& where, const std::string& found, const std::string& rule) {
    return base::refuse({.field = source + ": " + where, .found = found, .rule = rule, .remedy = ""});
  };
  const base::Json* cases = json.find("cases");
  if (cases == nullptr || cases->array() == nullptr || cases->array()->empty()) {
    return fault("cases", "", "must be a list of prompts");
  }
  std::vector<bench::Prompt> prompts;
  for (const base::Json& item : *cases->array()) {
    const std::string where = "cases[" + std::to_string(prompts.size()) + "].";
    const base::Json* kind = item.find("kind");
    const base::Json* ids = item.find("prompt_token_ids");
    if (kind == nullptr || kind->string() == nullptr) return fault(where + "kind", "", "must be a string");
    if (ids == nullptr || ids->array() == nullptr || ids->array()->empty()) {
      return fault(where + "prompt_token_ids", "", "must be a list of token ids");
    }
    bench::Prompt prompt{.name = base::printable(*kind->string()), .tokens = {}};
    for (const base::Json& id : *ids->array()) {
      if (id.integer() == nullptr || *id.integer() < 0 || *id.integer() > INT32_MAX) {
        return fault(where + "prompt_token_ids", id.excerpt(), "must be token ids");
      }
      prompt.tokens.push_back(static_cast<base::TokenId>(*id.integer()));
    }
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

}  // namespace outrider::cli
