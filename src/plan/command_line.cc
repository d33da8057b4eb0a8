#include "plan/command_line.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/strings.h"
#include "plan/ask_values.h"
#include "plan/intent_flags.h"
#include "plan/known_flags.h"

namespace outrider::plan {
namespace {

using base::Flag;
using base::FlagKind;
using base::FlagUse;

constexpr std::size_t kJsonBytesMax = 64 << 10;

// Everything that may stand on a vLLM command line, for telling known flags from unknown ones.
std::vector<Flag> all_flags() {
  std::vector<Flag> flags;
  add_common_flags(flags);
  add_asked_flags(flags, std::nullopt);
  for (const KnownFlag& known : vllm_flags()) {
    const FlagKind kind = known.kind == KnownKind::Switch ? FlagKind::Switch
                          : known.kind == KnownKind::Json ? FlagKind::Json
                                                          : FlagKind::Text;
    flags.push_back({.name = std::string(known.name),
                     .kind = kind,
                     .value_name = "",
                     .help = "",
                     .short_names = split_blanks(known.shorts),
                     .many = known.kind == KnownKind::Many});
  }
  return flags;
}

class Reader {
 public:
  Reader(Engine engine, CommandLine& out) : engine_(engine), use_(out.intent.use), out_(out) {}

  void problem(std::string rule, std::string field, std::string value, std::string message,
               std::string remedy = "") {
    out_.problems.push_back({.rule = std::move(rule),
                             .field = std::move(field),
                             .value = std::move(value),
                             .message = std::move(message),
                             .remedy = std::move(remedy),
                             .reference = ""});
  }

  void read_unknown(const std::vector<base::UnknownFlag>& unknown) {
    for (const base::UnknownFlag& flag : unknown) {
      const std::string word = base::printable(flag.word);
      problem("CLI", "flag:" + word, base::printable(flag.value.value_or("")),
              "flag " + word + " is not known",
              flag.nearest.empty() ? "" : "did you mean " + flag.nearest + "?");
    }
  }

  void read_targets(const base::FlagValues& values) {
    base::for_each_field(out_.intent.target, [&](const auto& field, auto& member) {
      const std::string flag = dashed(field.name);
      for (const FlagUse& use : values.uses()) {
        if (use.name == flag) read_target(std::string(field.name), use, member);
      }
      if (member && !field.note.engines.has(engine_)) not_ours(flag);
    });
  }

  // Known flags without a part in the plan; under our own rules only if a command of ours has them.
  void read_others(const base::FlagValues& values) {
    for (const KnownFlag& known : vllm_flags()) {
      const bool used = std::any_of(values.uses().begin(), values.uses().end(),
                                    [&](const FlagUse& use) { return use.name == known.name; });
      if (used && engine_ == Engine::Outrider && !known.ours) {
        problem("CLI", "flag:" + std::string(known.name), "",
                "flag " + std::string(known.name) + " is vLLM's and not in this engine",
                "leave it out, or judge with --as vllm");
      }
    }
  }

  // One JSON flag of several uses, whole and dotted, merged in the order typed. Nothing if its text cannot be
  // read.
  std::optional<Json> read_json(const base::FlagValues& values, std::string_view flag,
                                const std::string& field) {
    std::optional<Json> merged;
    for (const FlagUse& use : values.uses()) {
      if (use.name != flag) continue;
      if (use.keys.empty()) {
        merge_whole(use.value, field, merged);
      } else {
        merge_dotted(use, field, merged);
      }
    }
    return merged;
  }

  template <class Asked>
  void read_object(const Json& object, Asked& asked, const std::string& key_prefix,
                   const std::string& field_prefix) {
    for (const Json::Member& entry : *object.object()) {
      const std::string& key = entry.first;  // clang 14 captures no structured binding
      const Json& value = entry.second;
      if (key_prefix.empty() && special_keys_.contains(key)) continue;
      bool known = false;
      base::for_each_field(asked, [&](const auto& field, auto& member) {
        if (field.name != key) return;
        known = true;
        read_member(field, key, value, member, key_prefix, field_prefix);
      });
      if (!known) unknown_key(asked, key, value, key_prefix.empty() ? field_prefix : key_prefix);
    }
  }

  std::set<std::string, std::less<>> special_keys_;

 private:
  void not_ours(const std::string& flag) {
    problem("CLI", "flag:" + flag, "", "flag " + flag + " is vLLM's and not in this engine",
            "leave it out, or judge with --as vllm");
  }

  void read_target(const std::string& name, const FlagUse& use, std::optional<bool>& member) {
    if (use.value == "true" || use.value == "false") {
      member = use.value == "true";
    } else {
      problem("CLI", "target." + name, base::printable(use.value),
              "target: " + name + " is a switch and takes no value");
    }
  }
  void read_target(const std::string& name, const FlagUse& use, std::optional<std::int64_t>& member) {
    if (name == "max_model_len" && (use.value == "auto" || use.value == "-1")) {
      member.reset();
      return;
    }
    const auto number =
        name.starts_with("max_") ? parse_token_count(use.value) : base::parse_integer(use.value);
    if (number) {
      member = *number;
    } else {
      problem("CLI", "target." + name, base::printable(use.value), "target: " + name + " must be an integer");
    }
  }
  void read_target(const std::string& name, const FlagUse& use, std::optional<std::string>& member) {
    if (auto wrong = word_problem(name, "target." + name, use.value, engine_, use_)) {
      out_.problems.push_back(std::move(*wrong));
    } else {
      member = use.value;
    }
  }
  void read_target(const std::string& name, const FlagUse& use, std::optional<Json>& member) {
    merge_whole_or_dotted(use, "target." + name, member);
  }

  void merge_whole_or_dotted(const FlagUse& use, const std::string& field, std::optional<Json>& merged) {
    if (use.keys.empty()) {
      merge_whole(use.value, field, merged);
    } else {
      merge_dotted(use, field, merged);
    }
  }

  void merge_whole(const std::string& text, const std::string& field, std::optional<Json>& merged) {
    std::vector<base::JsonDuplicate> duplicates;
    base::Result<Json> parsed =
        base::parse_json(text, field, {.bytes_max = kJsonBytesMax, .duplicates = &duplicates});
    if (!parsed.ok()) {
      const base::Problem& fault = parsed.error().problems.front();
      problem("JSON", field, base::printable(text), fault.field + ": " + fault.rule,
              "check quotes, commas and brackets");
      return;
    }
    if (parsed->object() == nullptr) {
      problem("JSON", field, parsed->excerpt(),
              field + " must be a JSON object, but is " + std::string(parsed->kind_name()));
      return;
    }
    for (const base::JsonDuplicate& twice : duplicates) {
      problem("JSON", field + "." + base::printable(twice.path), twice.first.excerpt(),
              field + ": key " + base::printable(twice.path) + " is given twice: " + twice.first.excerpt() +
                  ", then " + twice.last.excerpt(),
              "give it once");
    }
    if (!merged) {
      merged = std::move(parsed).value();
      return;
    }
    for (auto& [key, value] : *parsed->object())
      set_key(*merged, std::vector<std::string>{key}, std::move(value), field);
  }

  void merge_dotted(const FlagUse& use, const std::string& field, std::optional<Json>& merged) {
    if (!merged) merged = Json(Json::Object{});
    const base::Result<Json> parsed = base::parse_json(use.value, field, {.bytes_max = kJsonBytesMax});
    set_key(*merged, use.keys, parsed.ok() ? *parsed : Json(use.value), field);
    loose_ = true;
  }

  void set_key(Json& tree, std::span<const std::string> keys, Json value, const std::string& field) {
    Json* at = &tree;
    std::string path = field;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      path += "." + base::printable(keys[i]);
      if (at->object() == nullptr) {
        problem("JSON", path, value.excerpt(), path + " has a parent that is no object");
        return;
      }
      Json::Object& members = *at->object();
      auto found = std::find_if(members.begin(), members.end(),
                                [&](const auto& member) { return member.first == keys[i]; });
      const bool last = i + 1 == keys.size();
      if (found == members.end()) {
        members.emplace_back(keys[i], last ? std::move(value) : Json(Json::Object{}));
        found = std::prev(members.end());
      } else if (last) {
        if (engine_ == Engine::Outrider && found->second != value) {
          problem("JSON", path, found->second.excerpt(),
                  path + " is given twice: " + found->second.excerpt() + ", then " + value.excerpt(),
                  "give it once");
        }
        found->second = std::move(value);
      }
      at = &found->second;
    }
  }

  template <class Field, class Member>
  void read_member(const Field& field, const std::string& key, const Json& value, Member& member,
                   const std::string& key_prefix, const std::string& field_prefix) {
    const std::string printed = key_prefix + printed_key(key, key_prefix, field_prefix);
    if (!field.note.engines.has(engine_)) {
      problem(engine_ == Engine::Outrider ? "CLI" : "JSON",
              (key_prefix.empty() ? field_prefix : key_prefix) + key, value.excerpt(),
              field_prefix + key + " is not a key that " + std::string(row_of(engine_).title) + " has",
              "leave it out");
      return;
    }
    if (!field.note.uses.has(use_)) {
      problem("CLI", printed, value.excerpt(),
              printed + " is not a key that outrider " + std::string(name_of(use_)) + " has" +
                  (field.note.uses.has(Use::Bench) ? ", though bench has it" : ", though it can be planned"),
              "leave it out");
      return;
    }
    if (!assign(member, value, loose_)) {
      problem("JSON", printed, value.excerpt(),
              printed + " must be " + std::string(kind_of(member)) + ", but is " + value.excerpt());
      return;
    }
    if constexpr (std::is_same_v<Member, std::optional<std::string>>) {
      if (!member) return;
      if (auto wrong = word_problem(key, printed, *member, engine_, use_)) {
        out_.problems.push_back(std::move(*wrong));
        member.reset();
      }
    }
  }

  // Keys of the speculative config are settings of the drafter.
  static std::string printed_key(const std::string& key, const std::string& key_prefix,
                                 const std::string& field_prefix) {
    if (!key_prefix.empty()) return key;
    (void)field_prefix;
    return "draft." + (key.starts_with("draft_tensor") ? key.substr(6) : key);
  }

  template <class Asked>
  void unknown_key(const Asked& asked, const std::string& key, const Json& value, const std::string& prefix) {
    std::vector<std::string_view> names;
    base::for_each_field(asked, [&](const auto& field, const auto&) {
      if (field.note.engines.has(engine_) && field.note.uses.has(use_)) names.push_back(field.name);
    });
    const std::string near = nearest_of(key, names);
    const std::string shown = base::printable(key);
    problem("JSON", prefix + shown, value.excerpt(), "key " + shown + " is not known",
            near.empty() ? "" : "did you mean " + near + "?");
  }

  Engine engine_;
  Use use_;
  CommandLine& out_;
  bool loose_ = false;
};

void read_speculative(Reader& reader, const base::FlagValues& values, CommandLine& out) {
  const std::optional<Json> object = reader.read_json(values, "--speculative-config", "speculative_config");
  if (!object) return;
  reader.special_keys_ = {"tensor_parallel_size"};
  AskedDraft asked;
  reader.read_object(*object, asked, "", "speculative_config.");
  if (const Json* trap = object->find("tensor_parallel_size")) {
    reader.problem("B6", "speculative_config.tensor_parallel_size", trap->excerpt(),
                   "draft: tensor_parallel_size is not a key here", "use draft_tensor_parallel_size");
  }
  out.intent.draft = std::move(asked);
}

void read_eplb(Reader& reader, const base::FlagValues& values, CommandLine& out) {
  const std::string* path = nullptr;
  bool json = false;
  for (const base::FlagUse& use : values.uses()) {
    if (use.name != "--eplb-config") continue;
    const std::size_t first = use.value.find_first_not_of(" \t\r\n");
    const bool whole = use.keys.empty();
    const bool looks_like_path = whole && first != std::string::npos &&
                                 std::string_view("{[\"").find(use.value[first]) == std::string_view::npos;
    if (looks_like_path) path = &use.value;
    json |= !looks_like_path;
  }
  if (path != nullptr) {
    out.eplb_path = *path;
    if (json) {
      reader.problem("CLI", "target.eplb_config", base::printable(*path),
                     "--eplb-config is given both as a file and as JSON", "keep one of them");
    }
    return;
  }
  const std::optional<Json> object = reader.read_json(values, "--eplb-config", "target.eplb_config");
  if (!object) return;
  Json rest(Json::Object{});
  for (const auto& [key, value] : *object->object()) {
    if (key == "draft" && out.intent.engine != Engine::Vllm) {
      AskedEplb draft;
      if (value.object() != nullptr) {
        reader.read_object(value, draft, "draft.eplb_config.", "draft.eplb_config.");
        out.intent.eplb_draft = draft;
      } else if (!value.is_null()) {
        reader.problem("JSON", "target.eplb_config.draft", value.excerpt(),
                       "target.eplb_config.draft must be a JSON object");
      }
    } else {
      rest.object()->emplace_back(key, value);
    }
  }
  reader.read_object(rest, out.intent.eplb, "target.eplb_config.", "target.eplb_config.");
}

void read_environment(const Environment& environment, CommandLine& out) {
  if (const auto partition = environment.find("VLLM_PP_LAYER_PARTITION"); partition != environment.end()) {
    out.intent.pp_layer_partition = partition->second;
  }
  // vLLM takes the data-parallel size from here where the command line leaves it at 1.
  const auto size = environment.find("VLLM_DP_SIZE");
  if (out.intent.engine != Engine::Vllm || size == environment.end() ||
      out.intent.target.data_parallel_size.value_or(1) > 1)
    return;
  if (const auto number = base::parse_integer(size->second)) out.intent.target.data_parallel_size = *number;
}

void read_model(const base::FlagValues& values, Reader& reader, CommandLine& out) {
  std::vector<std::string> models = values.positionals();
  if (const std::string* named = values.text("--model")) models.insert(models.begin(), *named);
  if (models.empty()) {
    reader.problem("CLI", "target.model", "", "target: no model is given",
                   "give --model PATH, a folder or its config.json");
    return;
  }
  out.intent.model = models.front();
  for (std::size_t i = 1; i < models.size(); ++i) {
    if (i == 1 && models[i] == models[0]) continue;  // the same model, named twice
    const std::string shown = base::printable(models[i]);
    reader.problem("CLI", "flag:" + shown, shown, "word " + shown + " belongs to no flag", "");
  }
}

}  // namespace

std::optional<std::int64_t> parse_token_count(std::string_view text) {
  if (const auto plain = base::parse_integer(text)) return plain;
  if (text.size() < 2) return std::nullopt;
  constexpr std::pair<char, std::int64_t> kUnits[] = {{'k', 1000},    {'K', 1 << 10},    {'m', 1000000},
                                                      {'M', 1 << 20}, {'g', 1000000000}, {'G', 1 << 30}};
  for (const auto& [letter, unit] : kUnits) {
    if (text.back() != letter) continue;
    const auto number = base::parse_number(text.substr(0, text.size() - 1));
    if (!number) return std::nullopt;
    const double tokens = *number * static_cast<double>(unit);
    if (tokens != std::floor(tokens) || std::abs(tokens) > 1e15) return std::nullopt;
    return static_cast<std::int64_t>(tokens);
  }
  return std::nullopt;
}

CommandLine read_intent(const base::FlagValues& values, Use use) {
  CommandLine out;
  out.intent.use = use;
  Reader reader(Engine::Outrider, out);
  if (const std::string* model = values.text("--model")) out.intent.model = *model;
  reader.read_targets(values);
  read_speculative(reader, values, out);
  return out;
}

CommandLine parse_command_line(std::span<const std::string> words, Engine engine,
                               const Environment& environment) {
  CommandLine out;
  out.intent.engine = engine;
  Reader reader(engine, out);
  const std::vector<Flag> flags = all_flags();
  base::Inspector inspector;
  const base::FlagValues values = base::parse_flags(
      words, flags, inspector,
      {.unknown_apart = true, .last_counts = engine != Engine::Outrider, .json_apart = true});
  for (const base::Problem& fault : inspector.problems()) {
    reader.problem("CLI", "flag:" + fault.field, fault.found, "flag " + fault.field + " " + fault.rule,
                   fault.remedy);
  }
  reader.read_unknown(values.unknown());
  read_model(values, reader, out);
  reader.read_targets(values);
  reader.read_others(values);
  read_speculative(reader, values, out);
  read_eplb(reader, values, out);
  read_environment(environment, out);
  return out;
}

}  // namespace outrider::plan
