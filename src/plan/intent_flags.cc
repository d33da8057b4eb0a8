#include "plan/intent_flags.h"

#include <algorithm>

#include "plan/ask_values.h"
#include "plan/command_line.h"

namespace outrider::plan {
namespace {

using base::Flag;
using base::FlagKind;

FlagKind kind_of_member(const std::optional<bool>&) { return FlagKind::Switch; }
FlagKind kind_of_member(const std::optional<Json>&) { return FlagKind::Json; }
template <class T>
FlagKind kind_of_member(const std::optional<T>&) {
  return FlagKind::Text;
}

// A field's line of help, with its words where they are few.
std::string help_of(std::string_view name, const AskNote& note, Use use) {
  std::string help(note.help), words;
  if (use == Use::Plan) return help;
  const bool method = name == "method";
  if (method) help = "how drafts are made";
  for (const std::string_view word : words_of(method ? "run_method" : name, Engine::Outrider, use))
    words += (words.empty() ? "" : ", ") + std::string(word);
  return words.empty() ? help : help + "; " + words;
}

}  // namespace

std::string dashed(std::string_view name) {
  std::string flag = "--" + std::string(name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

std::vector<std::string> split_blanks(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t blank = text.find(' ');
    parts.emplace_back(text.substr(0, blank));
    text = blank == std::string_view::npos ? std::string_view() : text.substr(blank + 1);
  }
  return parts;
}

void add_asked_flags(std::vector<Flag>& flags, std::optional<Engine> only, Use use) {
  const AskedTarget empty;
  base::for_each_field(empty, [&](const auto& field, const auto& member) {
    if (only && !field.note.engines.has(*only)) return;
    if (!field.note.uses.has(use)) return;
    flags.push_back({.name = dashed(field.name),
                     .kind = kind_of_member(member),
                     .value_name = std::string(field.note.value_name),
                     .help = help_of(field.name, field.note, use),
                     .short_names = split_blanks(field.note.shorts)});
  });
}

void add_common_flags(std::vector<Flag>& flags) {
  flags.push_back({.name = "--model",
                   .kind = FlagKind::Text,
                   .value_name = "PATH",
                   .help = "the target: a folder with config.json, or that file (also without --model)"});
  flags.push_back({.name = "--speculative-config",
                   .kind = FlagKind::Json,
                   .value_name = "JSON",
                   .help = "the drafter: {\"method\":\"dspark\",\"model\":PATH,\"num_speculative_tokens\":N}",
                   .short_names = {"-sc"}});
  flags.push_back(
      {.name = "--eplb-config",
       .kind = FlagKind::Json,
       .value_name = "JSON|FILE",
       .help = "balancing: a JSON object, its \"draft\" for the drafter; or TensorRT-LLM's YAML file"});
}

std::vector<Flag> plan_flags() {
  std::vector<Flag> flags;
  add_common_flags(flags);
  add_asked_flags(flags, Engine::Outrider);
  return flags;
}

std::vector<Flag> intent_flags(Use use) {
  std::vector<Flag> flags;
  if (kRunning.has(use)) {
    flags.push_back({.name = "--model",
                     .kind = FlagKind::Text,
                     .value_name = "DIR",
                     .help = "the target's checkpoint: a folder in Hugging Face's layout"});
    flags.push_back({.name = "--speculative-config",
                     .kind = FlagKind::Json,
                     .value_name = "JSON",
                     .help = "the drafter, e.g. {\"method\":\"dspark\",\"model\":\"DIR\"}, also as "
                             "--speculative-config.method dspark; its keys stand below",
                     .short_names = {"-sc"}});
  }
  add_asked_flags(flags, Engine::Outrider, use);
  for (Flag& flag : flags) flag.apart = true;
  return flags;
}

std::string speculative_keys_help(Use use) {
  std::vector<Flag> lines;
  const AskedDraft empty;
  base::for_each_field(empty, [&](const auto& field, const auto&) {
    if (!field.note.engines.has(Engine::Outrider) || !field.note.uses.has(use)) return;
    lines.push_back({.name = std::string(field.name),
                     .kind = FlagKind::Text,
                     .value_name = std::string(field.note.value_name),
                     .help = help_of(field.name, field.note, use)});
  });
  return "keys of --speculative-config:\n" + base::help_text(lines);
}

}  // namespace outrider::plan
