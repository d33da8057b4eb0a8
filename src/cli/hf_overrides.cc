#include "cli/hf_overrides.h"

#include <algorithm>
#include <array>

#include "base/strings.h"

namespace outrider::cli {
namespace {

using base::Json;

bool is_config_of_its_own(std::string_view key) {
  return key.ends_with("_config") && key != "quantization_config" && key != "dflash_config";
}

// What is read outside of a nested config, there or not.
bool is_read_outside(std::string_view key) {
  constexpr std::array<std::string_view, 7> kOutside = {
      "architectures",       "model_type",          "dtype",       "torch_dtype",
      "quantization_config", "tie_word_embeddings", "eos_token_id"};
  return std::find(kOutside.begin(), kOutside.end(), key) != kOutside.end();
}

Json& member_of(Json& object, const std::string& key) {
  Json::Object& members = *object.object();
  const auto found =
      std::find_if(members.begin(), members.end(), [&](const auto& member) { return member.first == key; });
  if (found != members.end()) return found->second;
  return members.emplace_back(key, Json()).second;
}

void set_members(Json& config, const Json& overrides) {
  for (const auto& [key, value] : *overrides.object()) {
    Json& member = member_of(config, key);
    const bool inside = member.object() != nullptr && value.object() != nullptr && is_config_of_its_own(key);
    if (inside) {
      set_members(member, value);
    } else {
      member = value;
    }
  }
}

// A key that the config lacks, one letter or two off a key that it has.
std::string meant_by(const Json& config, std::string_view key) {
  for (const auto& [known, value] : *config.object()) {
    const std::size_t distance = base::edit_distance(key, known);
    if (distance > 0 && distance <= 2 && key.size() > 5) return known;
  }
  return "";
}

void find_stray(const Json& config, const Json& overrides, const std::string& path,
                std::vector<plan::StrayOverride>& stray) {
  const Json* nested = config.find("text_config");
  for (const auto& [key, value] : *overrides.object()) {
    const Json* there = config.find(key);
    const std::string shown = base::printable(key);
    if (there != nullptr) {
      const bool inside =
          there->object() != nullptr && value.object() != nullptr && is_config_of_its_own(key);
      if (inside) find_stray(*there, value, path + shown + ".", stray);
    } else if (nested != nullptr && nested->object() != nullptr && !is_config_of_its_own(key) &&
               !is_read_outside(key)) {
      stray.push_back({path + shown, "the model's settings are in text_config: write {\"text_config\":{\"" +
                                         shown + "\":" + value.excerpt() + "}}"});
    } else if (const std::string meant = meant_by(config, key); !meant.empty()) {
      stray.push_back({path + shown, "did you mean " + meant + "?"});
    }
  }
}

}  // namespace

void apply_hf_overrides(Json& config, const Json& overrides, plan::Engine engine,
                        std::vector<plan::StrayOverride>& stray) {
  if (config.object() == nullptr || overrides.object() == nullptr) return;
  find_stray(config, overrides, "", stray);
  if (engine == plan::Engine::Outrider) {
    base::apply_merge_patch(config, overrides);
  } else {
    set_members(config, overrides);
  }
}

}  // namespace outrider::cli
