#include "plan/command_line.h"

#include <algorithm>

#include "base/strings.h"
#include "plan/ask_reader.h"
#include "plan/ask_values.h"
#include "plan/flag_pairs.h"
#include "plan/flag_values.h"
#include "plan/judged_flags.h"
#include "plan/loader_keys.h"

namespace outrider::plan {
namespace {

using base::Flag;

// --spec-method and its like; together with the same key of --speculative-config they contradict.
void read_spec_flags(AskReader& reader, const base::FlagValues& values, std::optional<Json>& object) {
  for (const auto& [flag, key] : kSpecFlags) {
    const std::string* typed = values.text(flag);
    if (typed == nullptr) continue;
    if (!object) object = Json(Json::Object{});
    const auto number = key == "num_speculative_tokens" ? parse_python_integer(*typed) : std::nullopt;
    if (object->find(key) != nullptr) {
      reader.problem(
          "CLI", "speculative_config." + std::string(key), base::printable(*typed),
          std::string(flag) + " and speculative_config." + std::string(key) + " exclude each other",
          "keep one of them");
    } else {
      object->object()->emplace_back(std::string(key), number ? Json(*number) : Json(*typed));
    }
  }
}

// Entries of [first batch size, last batch size, drafts].
void check_batch_sizes(AskReader& reader, AskedDraft& asked) {
  auto& entries = asked.num_speculative_tokens_per_batch_size;
  if (!entries) return;
  const auto is_entry = [](const Json& entry) {
    const Json::Array* numbers = entry.array();
    return numbers != nullptr && numbers->size() == 3 &&
           std::all_of(numbers->begin(), numbers->end(),
                       [](const Json& one) { return one.integer() != nullptr; });
  };
  if (entries->array() != nullptr &&
      std::all_of(entries->array()->begin(), entries->array()->end(), is_entry))
    return;
  reader.problem("JSON", "draft.num_speculative_tokens_per_batch_size", entries->excerpt(),
                 "draft.num_speculative_tokens_per_batch_size must list [first batch size, last, drafts]",
                 "write it as [[1,8,5],[9,64,2]]");
  entries.reset();
}

void read_speculative(AskReader& reader, const base::FlagValues& values, CommandLine& out) {
  std::optional<Json> object = reader.json().read(values, "--speculative-config", "speculative_config");
  read_spec_flags(reader, values, object);
  if (!object) return;
  reader.skip_keys({"tensor_parallel_size"});
  AskedDraft asked;
  reader.read_object(*object, asked, "", "speculative_config.");
  if (const Json* trap = object->find("tensor_parallel_size")) {
    reader.problem("B6", "speculative_config.tensor_parallel_size", trap->excerpt(),
                   "draft: tensor_parallel_size is not a key here", "use draft_tensor_parallel_size");
  }
  check_batch_sizes(reader, asked);
  // vLLM's spelling of the method where a model stands.
  if (out.intent.engine == Engine::Vllm && !asked.method &&
      (asked.model == "ngram" || asked.model == "[ngram]")) {
    asked.method = "ngram";
    asked.model.reset();
  }
  out.intent.draft = std::move(asked);
}

void read_eplb(AskReader& reader, const base::FlagValues& values, CommandLine& out) {
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
  const std::optional<Json> object = reader.json().read(values, "--eplb-config", "target.eplb_config");
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
                       "target.eplb_config.draft must be a JSON object",
                       "write it as {\"num_redundant_experts\":N}");
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
  if (const auto allow = environment.find("VLLM_ALLOW_LONG_MAX_MODEL_LEN"); allow != environment.end()) {
    out.intent.allow_long_max_model_len = allow->second == "1" || allow->second == "true";
  }
  // vLLM takes the data-parallel size from here where the command line leaves it at 1.
  const auto size = environment.find("VLLM_DP_SIZE");
  if (out.intent.engine != Engine::Vllm || size == environment.end() ||
      out.intent.target.data_parallel_size.value_or(1) > 1)
    return;
  if (const auto number = parse_python_integer(size->second)) {
    out.intent.target.data_parallel_size = *number;
    out.intent.copies_from_environment = true;
  } else {
    out.problems.push_back({.rule = "CLI",
                            .field = "target.data_parallel_size",
                            .value = base::printable(size->second),
                            .message = "target: VLLM_DP_SIZE must be an integer",
                            .remedy = "correct the variable, or leave it out",
                            .reference = ""});
  }
}

void read_model(const base::FlagValues& values, AskReader& reader, CommandLine& out) {
  std::vector<std::string> models = values.positionals();
  if (const std::string* named = values.text("--model")) models.insert(models.begin(), *named);
  if (models.empty()) {
    reader.problem("CLI", "target.model", "", "target: no model is given",
                   "give --model PATH, a folder or its config.json");
    return;
  }
  out.intent.model = models.front();
  for (std::size_t i = 1; i < models.size(); ++i) {
    // The same model, named twice, is no question; vLLM takes no second word all the same.
    if (i == 1 && models[i] == models[0] && out.intent.engine == Engine::Outrider) continue;
    const std::string shown = base::printable(models[i]);
    reader.problem("CLI", "flag:" + shown, shown, "word " + shown + " belongs to no flag",
                   "leave it out; text with blanks needs quotes");
  }
}

// Keys of vLLM's kernel and attention configs that are settings of the plan under another name.
void read_nested_settings(const base::FlagValues& values, AskReader& reader, CommandLine& out) {
  std::vector<Problem> told;  // what cannot be read is told as any known flag's value
  const auto take = [&](std::string_view flag, std::string_view key, std::string_view field,
                        std::optional<std::string>& member) {
    const std::optional<Json> object = JsonFlags(out.intent.engine, told).read(values, flag, "");
    const Json* value = object ? object->find(key) : nullptr;
    if (value == nullptr || value->string() == nullptr) return;
    const std::string word = spelled(field, *value->string(), out.intent.engine);
    if (member) {
      reader.problem("CLI", "target." + std::string(field), base::printable(word),
                     "target: " + std::string(field) + " is given twice, once in " + std::string(flag),
                     "keep one of them");
    } else if (auto wrong = word_problem(field, "target." + std::string(field), word, out.intent.engine)) {
      out.problems.push_back(std::move(*wrong));
    } else {
      member = word;
    }
  };
  if (out.intent.engine == Engine::Outrider) return;
  take("--attention-config", "backend", "attention_backend", out.intent.target.attention_backend);
  take("--kernel-config", "moe_backend", "moe_backend", out.intent.target.moe_backend);
}

}  // namespace

CommandLine read_intent(const base::FlagValues& values, Use use) {
  CommandLine out;
  out.intent.use = use;
  AskReader reader(Engine::Outrider, out);
  if (const std::string* model = values.text("--model")) out.intent.model = *model;
  reader.read_targets(values);
  read_speculative(reader, values, out);
  return out;
}

CommandLine parse_command_line(std::span<const std::string> words, Engine engine,
                               const Environment& environment) {
  CommandLine out;
  out.intent.engine = engine;
  AskReader reader(engine, out);
  const std::vector<Flag> flags = judged_flags();
  base::Inspector inspector;
  const base::FlagValues values = base::parse_flags(words, flags, inspector,
                                                    {.unknown_apart = true,
                                                     .last_counts = engine != Engine::Outrider,
                                                     .json_apart = true,
                                                     .bare_switches = engine == Engine::Vllm});
  reader.read_faults(inspector);
  reader.read_unknown(values.unknown());
  read_model(values, reader, out);
  reader.read_targets(values);
  reader.read_others(values);
  read_speculative(reader, values, out);
  read_eplb(reader, values, out);
  read_nested_settings(values, reader, out);
  read_environment(environment, out);
  check_loader_keys(out.intent, out.problems);
  if (engine == Engine::Vllm) check_flag_pairs(values, out.intent, out.problems);
  return out;
}

}  // namespace outrider::plan
