#include "plan/json_flags.h"

#include <algorithm>

#include "base/strings.h"
#include "plan/flag_values.h"

namespace outrider::plan {
namespace {

constexpr std::size_t kJsonBytesMax = 64 << 10;

// The text of a dotted use: JSON where it is JSON, "8k" as a number, else text.
Json dotted_value(const std::string& text, const std::string& field) {
  base::Result<Json> parsed = base::parse_json(text, field, {.bytes_max = kJsonBytesMax});
  if (parsed.ok()) return std::move(parsed).value();
  if (const auto count = parse_token_count(text)) return Json(*count);
  return Json(text);
}

// "key+": elements of a list, separated by commas.
Json list_of(std::string_view text) {
  Json::Array items;
  while (true) {
    const std::size_t comma = text.find(',');
    items.emplace_back(std::string(text.substr(0, comma)));
    if (comma == std::string_view::npos) return Json(std::move(items));
    text = text.substr(comma + 1);
  }
}

}  // namespace

std::optional<Json> JsonFlags::read(const base::FlagValues& values, std::string_view flag,
                                    const std::string& field) {
  std::optional<Json> merged;
  for (const base::FlagUse& use : values.uses()) {
    if (use.name == flag) merge(use, field, merged);
  }
  return merged;
}

void JsonFlags::merge(const base::FlagUse& use, const std::string& field, std::optional<Json>& merged) {
  if (use.keys.empty()) {
    merge_whole(use.value, field, merged);
  } else {
    merge_dotted(use, field, merged);
  }
}

void JsonFlags::problem(std::string field, std::string value, std::string message, std::string remedy) {
  problems_.push_back({.rule = "JSON",
                       .field = std::move(field),
                       .value = std::move(value),
                       .message = std::move(message),
                       .remedy = std::move(remedy),
                       .reference = ""});
}

void JsonFlags::merge_whole(const std::string& text, const std::string& field, std::optional<Json>& merged) {
  const bool none =
      engine_ != Engine::Outrider && field == "speculative_config" && (text.empty() || text == "None");
  if (none) return;  // vLLM's way of saying that there is none
  std::vector<base::JsonDuplicate> duplicates;
  base::Result<Json> parsed =
      base::parse_json(text, field, {.bytes_max = kJsonBytesMax, .duplicates = &duplicates});
  if (!parsed.ok()) {
    const base::Problem& fault = parsed.error().problems.front();
    const bool quoted =
        text.size() > 1 && (text.front() == '\'' || text.front() == '"') && text.front() == text.back();
    problem(field, base::printable(text), fault.field + ": " + fault.rule,
            quoted ? "the quotes around it are part of the text: leave them out"
                   : "check quotes, commas and brackets");
    return;
  }
  if (parsed->object() == nullptr) {
    problem(field, parsed->excerpt(),
            field + " must be a JSON object, but is " + std::string(parsed->kind_name()),
            "write it as {\"key\":value}");
    return;
  }
  for (const base::JsonDuplicate& twice : duplicates) {
    problem(field + "." + base::printable(twice.path), twice.first.excerpt(),
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

void JsonFlags::merge_dotted(const base::FlagUse& use, const std::string& field,
                             std::optional<Json>& merged) {
  if (!merged) merged = Json(Json::Object{});
  std::vector<std::string> keys = use.keys;
  const bool element = keys.back().ends_with('+');
  if (element) keys.back().pop_back();
  set_key(*merged, keys, element ? list_of(use.value) : dotted_value(use.value, field), field);
  loose_ = true;
}

void JsonFlags::replace_last(Json& member, Json value, const std::string& path) {
  Json::Array* items = member.array();
  if (items != nullptr && value.array() != nullptr) {
    for (Json& item : *value.array()) items->push_back(std::move(item));
    return;
  }
  if (engine_ == Engine::Outrider && member != value) {
    problem(path, member.excerpt(),
            path + " is given twice: " + member.excerpt() + ", then " + value.excerpt(), "give it once");
  }
  member = std::move(value);
}

void JsonFlags::set_key(Json& tree, std::span<const std::string> keys, Json value, const std::string& field) {
  Json* at = &tree;
  std::string path = field;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    path += "." + base::printable(keys[i]);
    if (at->object() == nullptr) {
      problem(path, value.excerpt(), path + " has a parent that is no object",
              "give either the one or the other");
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
      replace_last(found->second, std::move(value), path);
    }
    at = &found->second;
  }
}

}  // namespace outrider::plan
