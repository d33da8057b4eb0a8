#include "checkpoint/config_reader.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"

namespace outrider::checkpoint {
namespace {

std::string integer_rule(std::int64_t low, std::int64_t high) {
  return "must be an integer from " + std::to_string(low) + " to " + std::to_string(high);
}

bool is_integer_within(const base::Json& value, std::int64_t low, std::int64_t high) {
  const std::int64_t* whole = value.integer();
  return whole != nullptr && *whole >= low && *whole <= high;
}

}  // namespace

const base::Json* ConfigReader::find(std::string_view key) const {
  const base::Json* value = object_->find(key);
  return value != nullptr && value->is_null() ? nullptr : value;
}

void ConfigReader::report(std::string_view key, std::string rule, std::string remedy) const {
  const base::Json* value = object_->find(key);
  inspector_->report({.field = place_ + base::printable(key),
                      .found = value == nullptr ? "" : value->excerpt(),
                      .rule = std::move(rule),
                      .remedy = std::move(remedy)});
}

bool ConfigReader::told(std::string_view key) const {
  const std::string field = place_ + base::printable(key);
  const auto& problems = inspector_->problems();
  return std::any_of(problems.begin(), problems.end(),
                     [&](const base::Problem& problem) { return problem.field == field; });
}

std::int64_t ConfigReader::integer(std::string_view key, std::int64_t low, std::int64_t high) const {
  if (object_->find(key) == nullptr) {
    report(key, "is missing and required: " + integer_rule(low, high));
    return low;
  }
  if (!has(key)) {
    report(key, integer_rule(low, high));
    return low;
  }
  return integer_if(key, low, high).value_or(low);
}

std::optional<std::int64_t> ConfigReader::integer_if(std::string_view key, std::int64_t low,
                                                     std::int64_t high) const {
  const base::Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (is_integer_within(*value, low, high)) return *value->integer();
  report(key, integer_rule(low, high));
  return std::nullopt;
}

double ConfigReader::positive(std::string_view key) const {
  if (!has(key)) {
    report(key, std::string(object_->find(key) == nullptr ? "is missing and required: " : "") +
                    "must be a number above 0");
    return 1;
  }
  return positive_if(key).value_or(1);
}

std::optional<double> ConfigReader::positive_if(std::string_view key) const {
  const base::Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const std::optional<double> number = value->number();
  if (number && std::isfinite(*number) && *number > 0) return number;
  report(key, "must be a number above 0");
  return std::nullopt;
}

bool ConfigReader::flag(std::string_view key, bool fallback) const {
  const base::Json* value = find(key);
  if (value == nullptr) return fallback;
  if (value->boolean() != nullptr) return *value->boolean();
  report(key, "must be true or false");
  return fallback;
}

std::optional<std::string> ConfigReader::text_if(std::string_view key) const {
  const base::Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->string() != nullptr) return *value->string();
  report(key, "must be a string");
  return std::nullopt;
}

std::optional<std::vector<int>> ConfigReader::integers_if(std::string_view key, std::int64_t low,
                                                          std::int64_t high) const {
  const base::Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const base::Json::Array* array = value->array();
  if (array == nullptr) {
    report(key, "must be a list of integers");
    return std::nullopt;
  }
  if (static_cast<std::int64_t>(array->size()) > kListMax) {
    report(key,
           "has " + std::to_string(array->size()) + " entries, the limit is " + std::to_string(kListMax));
    return std::nullopt;
  }
  std::vector<int> numbers;
  std::vector<std::string> wrong;
  for (const base::Json& entry : *array) {
    if (is_integer_within(entry, low, high)) {
      numbers.push_back(static_cast<int>(*entry.integer()));
    } else {
      wrong.push_back(entry.excerpt(24));
    }
  }
  if (!wrong.empty()) {
    report(key, "every entry must be an integer from " + std::to_string(low) + " to " + std::to_string(high) +
                    ", which " + base::list_names(wrong) + (wrong.size() == 1 ? " is not" : " are not"));
  }
  return numbers;
}

std::optional<std::vector<std::string>> ConfigReader::texts_if(std::string_view key) const {
  const base::Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const base::Json::Array* array = value->array();
  const bool right = array != nullptr && static_cast<std::int64_t>(array->size()) <= kListMax &&
                     std::all_of(array->begin(), array->end(),
                                 [](const base::Json& entry) { return entry.string() != nullptr; });
  if (!right) {
    report(key, "must be a list of at most " + std::to_string(kListMax) + " strings");
    return std::nullopt;
  }
  std::vector<std::string> texts;
  for (const base::Json& entry : *array) texts.push_back(*entry.string());
  return texts;
}

std::optional<ConfigReader> ConfigReader::object_if(std::string_view key) const {
  const base::Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->object() != nullptr)
    return ConfigReader(*value, place_ + std::string(key) + ".", *inspector_, sizes_only_);
  report(key, "must be an object");
  return std::nullopt;
}

std::string_view ConfigReader::spelling(std::string_view first, std::string_view second) const {
  if (!has(second)) return first;
  if (!has(first)) return object_->find(first) == nullptr || has(second) ? second : first;
  if (!(*find(first) == *find(second))) {
    report(first, "differs from " + std::string(second) + " = " + find(second)->excerpt(),
           "leave one of the two spellings");
  }
  return first;
}

std::optional<std::size_t> ConfigReader::choice_if(std::string_view key,
                                                   std::span<const std::string_view> allowed) const {
  const base::Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const std::string* text = value->string()) {
    const auto found = std::find(allowed.begin(), allowed.end(), *text);
    if (found != allowed.end()) return static_cast<std::size_t>(found - allowed.begin());
  }
  report(key, "must be " + list_choices(allowed));
  return std::nullopt;
}

std::string list_choices(std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

}  // namespace outrider::checkpoint
