#include "plan/loader_keys.h"

#include <algorithm>

#include "base/strings.h"
#include "plan/ask_values.h"

namespace outrider::plan {
namespace {

using Names = std::vector<std::string_view>;

void tell(std::string field, const Json& value, std::string message, std::string remedy,
          std::vector<Problem>& problems) {
  problems.push_back({.rule = "JSON",
                      .field = std::move(field),
                      .value = value.excerpt(),
                      .message = std::move(message),
                      .remedy = std::move(remedy),
                      .reference = ""});
}

void check_keys(const Json& object, const std::string& field, const Names& names,
                std::vector<Problem>& problems) {
  for (const auto& [key, value] : *object.object()) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    const std::string shown = base::printable(key), near = nearest_of(key, names);
    tell(field + "." + shown, value, "key " + shown + " is not known",
         near.empty() ? "leave it out" : "did you mean " + near + "?", problems);
  }
}

// What two loaders take beside the format.
void check_extra(const Json& extra, const std::string& format, const std::string& field,
                 std::vector<Problem>& problems) {
  if (extra.object() == nullptr) return;
  if (format == "sharded_state") check_keys(extra, field, {"pattern"}, problems);
  if (format != "runai_streamer" && format != "runai_streamer_sharded") return;
  check_keys(extra, field,
             format == "runai_streamer" ? Names{"distributed", "concurrency", "memory_limit"}
                                        : Names{"pattern", "concurrency", "memory_limit"},
             problems);
  const auto require = [&](const char* key, auto holds, const char* rule) {
    const Json* value = extra.find(key);
    if (value == nullptr || holds(*value)) return;
    tell(field + "." + key, *value, std::string(key) + " must be " + rule + ", but is " + value->excerpt(),
         std::string("give ") + rule, problems);
  };
  const auto at_least = [](std::int64_t least) {
    return [least](const Json& value) { return value.integer() != nullptr && *value.integer() >= least; };
  };
  require(
      "distributed", [](const Json& value) { return value.boolean() != nullptr; }, "true or false");
  require("concurrency", at_least(1), "an integer above 0");
  require("memory_limit", at_least(-1), "an integer of at least -1");
}

}  // namespace

void check_loader_keys(const Intent& intent, std::vector<Problem>& problems) {
  const AskedTarget& target = intent.target;
  if (target.model_loader_extra_config) {
    check_extra(*target.model_loader_extra_config, target.load_format.value_or("auto"),
                "target.model_loader_extra_config", problems);
  }
  if (!intent.draft || !intent.draft->draft_load_config) return;
  const Json& config = *intent.draft->draft_load_config;
  const std::string field = "draft.draft_load_config";
  if (config.object() == nullptr) {
    tell(field, config, field + " must be a JSON object", "write it as {\"load_format\":\"auto\"}", problems);
    return;
  }
  const Names ours = {"load_format"};
  const Names theirs = {"load_format",
                        "download_dir",
                        "safetensors_load_strategy",
                        "safetensors_prefetch_num_threads",
                        "safetensors_prefetch_block_size",
                        "model_loader_extra_config",
                        "device",
                        "ignore_patterns",
                        "use_tqdm_on_load",
                        "pt_load_map_location"};
  check_keys(config, field, intent.engine == Engine::Outrider ? ours : theirs, problems);
  const Json* format = config.find("load_format");
  if (format == nullptr) return;
  if (format->string() == nullptr) {
    tell(field + ".load_format", *format, "load_format must be a string", "name a format, or leave it out",
         problems);
  } else if (auto wrong = word_problem("load_format", "draft.load_format", *format->string(), intent.engine,
                                       intent.use)) {
    problems.push_back(std::move(*wrong));
  } else if (const Json* extra = config.find("model_loader_extra_config")) {
    check_extra(*extra, *format->string(), field + ".model_loader_extra_config", problems);
  }
}

}  // namespace outrider::plan
