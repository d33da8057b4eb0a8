#include "cli/plan_files.h"

#include <algorithm>
#include <filesystem>
#include <functional>

#include "base/flags.h"
#include "base/mapped_file.h"
#include "base/strings.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/facts.h"
#include "cli/hf_overrides.h"
#include "plan/eplb_yaml.h"

namespace outrider::cli {
namespace {

namespace fs = std::filesystem;
using plan::Problem;

fs::path folder_of(const std::string& model) {
  std::error_code ec;
  const fs::path path(model);
  const bool folder = fs::is_directory(path, ec);
  const fs::path canonical = fs::weakly_canonical(folder ? path : path.parent_path(), ec);
  return ec ? path : canonical;
}

// Names from the index of the shards, sorted; none where there is none: keys then decide alone.
std::vector<std::string> index_names(const std::string& model) {
  std::error_code ec;
  const fs::path file = fs::path(model) / "model.safetensors.index.json";
  if (!fs::is_directory(model, ec) || !fs::is_regular_file(file, ec)) return {};
  const auto text = base::read_text_file(file.string());
  if (!text.ok()) return {};
  const auto index = base::parse_json(*text, file.string());
  const base::Json* map = index.ok() ? index->find("weight_map") : nullptr;
  if (map == nullptr || map->object() == nullptr) return {};
  std::vector<std::string> names;
  for (const auto& [name, shard] : *map->object()) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

// Ranks in the names of a folder cut by rank: "model-rank-7-part-0.safetensors".
std::optional<std::int64_t> ranks_of_shards(const std::string& model) {
  constexpr std::string_view kBegin = "model-rank-";
  std::error_code ec;
  std::optional<std::int64_t> ranks;
  for (fs::directory_iterator at(model, ec), end; !ec && at != end; at.increment(ec)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(kBegin) || !name.ends_with(".safetensors")) continue;
    const std::size_t dash = name.find('-', kBegin.size());
    const auto rank = base::parse_integer(std::string_view(name).substr(kBegin.size(), dash - kBegin.size()));
    if (rank && *rank >= 0 && *rank < 4096) ranks = std::max(ranks.value_or(0), *rank + 1);
  }
  return ranks;
}

// Which rule a faulty key of a config breaks.
std::string rule_of(const std::string& key, const std::string& rule) {
  const auto holds = [&](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  if (holds(key, "layer_ids")) return holds(rule, "differs from") ? "E3" : "E2";
  if (holds(key, "mask_token") || holds(key, "noise_token") || holds(key, "markov") ||
      holds(key, "pard_token"))
    return "H7";
  if (holds(key, "architectures")) return "B15";
  if (holds(key, "draft_vocab_size")) return "H2";
  return "CONFIG";
}

// A string's value as it is, not as JSON writes it.
std::string unquoted(const std::string& found) {
  const bool quoted = found.size() >= 2 && found.front() == '"' && found.back() == '"';
  return quoted ? found.substr(1, found.size() - 2) : found;
}

void add_config_problems(const std::string& role, const std::vector<base::Problem>& faults,
                         std::vector<Problem>& problems) {
  for (const base::Problem& fault : faults) {
    const std::size_t colon = fault.field.rfind(": ");
    const std::string key = colon == std::string::npos ? fault.field : fault.field.substr(colon + 2);
    problems.push_back({.rule = rule_of(key, fault.rule),
                        .field = role + ".config." + key,
                        .value = unquoted(fault.found),
                        .message = role + ": " + base::to_string({fault.field, fault.found, fault.rule, ""}),
                        .remedy = fault.remedy.empty() ? "correct the config.json" : fault.remedy,
                        .reference = ""});
  }
}

Problem unreadable(const std::string& role, const std::string& model, const base::Refusal& why) {
  return {.rule = "CLI",
          .field = role + ".model",
          .value = base::printable(model),
          .message = role + ": the model cannot be read: " + base::to_string(why.problems.front()),
          .remedy = "give a folder with config.json, or that file; models are not downloaded",
          .reference = ""};
}

using Overriding = std::function<void(base::Json&)>;

std::optional<checkpoint::Facts> read_role(const std::string& role, const std::string& model,
                                           bool as_draft_model, const Overriding& overriding,
                                           std::vector<Problem>& problems) {
  auto config = checkpoint::load_config(model, nullptr);
  if (!config.ok()) {
    problems.push_back(unreadable(role, model, config.error()));
    return std::nullopt;
  }
  if (overriding) overriding(*config);
  checkpoint::FactsReading reading = checkpoint::read_facts(
      *config, "config.json", {.tensor_names = index_names(model), .as_draft_model = as_draft_model});
  add_config_problems(role, reading.problems, problems);
  return std::move(reading.facts);
}

void read_eplb_file(plan::CommandLine& command, std::vector<Problem>& problems) {
  if (!command.eplb_path) return;
  const auto text = base::read_text_file(*command.eplb_path, plan::kEplbFileBytesMax);
  if (!text.ok() || command.intent.engine == plan::Engine::Vllm) {
    const bool found = text.ok();
    problems.push_back(
        {.rule = found ? "JSON" : "CLI",
         .field = "target.eplb_config",
         .value = base::printable(*command.eplb_path),
         .message = found ? "target: vLLM reads JSON here, not a file"
                          : "target: eplb_config is no JSON object, and no file of that name can be read",
         .remedy = found ? "write the settings as a JSON object" : "give a JSON object or a file",
         .reference = ""});
    return;
  }
  command.intent.eplb_file = plan::parse_eplb_yaml(*text, problems);
}

}  // namespace

PlanInputs read_plan_inputs(plan::CommandLine& command) {
  PlanInputs inputs;
  read_eplb_file(command, inputs.problems);
  const plan::Intent& intent = command.intent;
  if (intent.model.empty()) return inputs;
  plan::ModelsFacts facts{.target = {}, .draft = std::nullopt, .draft_is_target = false};
  const Overriding overriding = [&](base::Json& config) {
    if (!intent.target.hf_overrides) return;
    apply_hf_overrides(config, *intent.target.hf_overrides, intent.engine, facts.stray_overrides);
  };
  auto target = read_role("target", intent.model, false, overriding, inputs.problems);
  if (intent.draft && intent.draft->model) {
    facts.draft_is_target = folder_of(*intent.draft->model) == folder_of(intent.model);
    const bool ordinary = intent.draft->method == "draft_model" || intent.draft->method == "pard";
    if (!facts.draft_is_target)
      facts.draft = read_role("draft", *intent.draft->model, ordinary, nullptr, inputs.problems);
    // vLLM takes a model that is no drafter of any kind, where no method is given, as a draft model.
    const bool whole = facts.draft && !facts.draft->drafter && !intent.draft->method;
    if (whole && intent.engine == plan::Engine::Vllm)
      facts.draft = read_role("draft", *intent.draft->model, true, nullptr, inputs.problems);
  }
  facts.target_sharded_for = ranks_of_shards(intent.model);
  if (intent.draft && intent.draft->model) facts.draft_sharded_for = ranks_of_shards(*intent.draft->model);
  if (target) {
    facts.target = std::move(*target);
    inputs.facts = std::move(facts);
  }
  return inputs;
}

}  // namespace outrider::cli
