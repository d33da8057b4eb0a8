#include "base/flags.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/strings.h"

namespace outrider::base {
namespace {

const Flag* find_flag(std::span<const Flag> flags, std::string_view name) {
  const auto found = std::find_if(flags.begin(), flags.end(), [&](const Flag& flag) { return flag.name == name; });
  return found == flags.end() ? nullptr : &*found;
}

std::string dashed(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

struct Word {
  std::string name;                  // "--max-tokens"
  std::vector<std::string> keys;     // dotted part
  std::optional<std::string> value;  // after "="
};

Word split_word(const std::string& word) {
  Word result;
  std::string_view left = word;
  const std::size_t equals = left.find('=');
  if (equals != std::string_view::npos) {
    result.value = std::string(left.substr(equals + 1));
    left = left.substr(0, equals);
  }
  std::size_t dot = left.find('.');
  result.name = dashed(left.substr(0, dot));
  while (dot != std::string_view::npos) {
    left = left.substr(dot + 1);
    dot = left.find('.');
    result.keys.emplace_back(left.substr(0, dot));
  }
  return result;
}

// Sets tree.keys[0].keys[1]... = value; false where a value on the way is no object, or the key is set already.
bool insert_dotted(Json& tree, std::span<const std::string> keys, Json value) {
  if (tree.is_null()) tree = Json(Json::Object{});
  Json::Object* object = tree.object();
  if (object == nullptr) return false;
  const auto found =
      std::find_if(object->begin(), object->end(), [&](const Json::Member& member) { return member.first == keys[0]; });
  if (keys.size() == 1) {
    if (found != object->end()) return false;
    object->emplace_back(keys[0], std::move(value));
    return true;
  }
  if (found != object->end()) return insert_dotted(found->second, keys.subspan(1), std::move(value));
  object->emplace_back(keys[0], Json(Json::Object{}));
  return insert_dotted(object->back().second, keys.subspan(1), std::move(value));
}

void check_kind(const Flag& flag, const std::string& value, Inspector& inspector) {
  const auto require = [&](bool holds, const char* rule) {
    inspector.require(holds, {.field = flag.name, .found = printable(value), .rule = rule, .remedy = ""});
  };
  if (flag.kind == FlagKind::Integer) require(parse_integer(value).has_value(), "must be an integer");
  if (flag.kind == FlagKind::Number) require(parse_number(value).has_value(), "must be a finite number");
  if (flag.kind == FlagKind::Text) require(is_utf8(value), "must be UTF-8 text");
}

}  // namespace

const FlagUse* FlagValues::last(std::string_view name) const {
  const auto found = std::find_if(uses_.rbegin(), uses_.rend(), [&](const FlagUse& use) { return use.name == name; });
  return found == uses_.rend() ? nullptr : &*found;
}
const std::string* FlagValues::text(std::string_view name) const {
  const FlagUse* use = last(name);
  return use == nullptr ? nullptr : &use->value;
}
std::optional<std::int64_t> FlagValues::integer(std::string_view name) const {
  const FlagUse* use = last(name);
  return use == nullptr ? std::nullopt : parse_integer(use->value);
}
std::optional<double> FlagValues::number(std::string_view name) const {
  const FlagUse* use = last(name);
  return use == nullptr ? std::nullopt : parse_number(use->value);
}
std::optional<bool> FlagValues::boolean(std::string_view name) const {
  const FlagUse* use = last(name);
  return use == nullptr ? std::nullopt : std::optional(use->value == "true");
}
const Json* FlagValues::json(std::string_view name) const {
  const auto found = std::find_if(json_.begin(), json_.end(), [&](const auto& entry) { return entry.first == name; });
  return found == json_.end() ? nullptr : &found->second;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

std::string nearest_name(std::string_view unknown, std::span<const Flag> flags) {
  std::string nearest;
  std::size_t distance = std::max<std::size_t>(3, unknown.size() / 3);
  for (const Flag& flag : flags) {
    const std::size_t d = edit_distance(unknown, flag.name);
    if (d < distance) {
      distance = d;
      nearest = flag.name;
    }
  }
  return nearest;
}

FlagValues parse_flags(std::span<const std::string> words, std::span<const Flag> flags, Inspector& inspector) {
  FlagValues values;
  const auto report = [&](std::string field, std::string found, std::string rule, std::string remedy = "") {
    inspector.report({.field = std::move(field), .found = printable(found), .rule = std::move(rule), .remedy = std::move(remedy)});
  };
  const auto json_of = [&](const std::string& name) -> Json& {
    for (auto& [known, tree] : values.json_) {
      if (known == name) return tree;
    }
    return values.json_.emplace_back(name, Json()).second;
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--") || words[i].size() == 2) {
      values.positionals_.push_back(words[i]);
      continue;
    }
    Word word = split_word(words[i]);
    const Flag* flag = find_flag(flags, word.name);
    const bool negated = flag == nullptr && word.name.starts_with("--no-");
    if (negated) flag = find_flag(flags, "--" + word.name.substr(5));
    if (flag == nullptr || (negated && flag->kind != FlagKind::Switch) ||
        (!word.keys.empty() && flag->kind != FlagKind::Json)) {
      const std::string near = nearest_name(word.name, flags);
      report(printable(words[i]), "", "is no flag of this command", near.empty() ? "" : "did you mean " + near + "?");
      continue;
    }
    if (flag->kind == FlagKind::Switch) {
      const std::string value = word.value.value_or("true");
      if (value != "true" && value != "false") report(flag->name, value, "is a switch: true or false, or no value");
      values.uses_.push_back({flag->name, (value == "true") != negated ? "true" : "false"});
      continue;
    }
    if (!word.value) {
      if (i + 1 == words.size() || words[i + 1].starts_with("--")) {
        report(flag->name, "", "needs a value", "write " + flag->name + "=VALUE where the value starts with --");
        continue;
      }
      word.value = words[++i];
    }
    if (flag->kind == FlagKind::Json && !word.keys.empty()) {
      const Result<Json> parsed = parse_json(*word.value, flag->name);
      Json value = parsed.ok() ? parsed.value() : Json(*word.value);
      if (!insert_dotted(json_of(flag->name), word.keys, std::move(value))) {
        report(printable(words[i]), *word.value, "this key is set already, or its parent is no object");
      }
      continue;
    }
    if (!flag->repeatable && values.has(flag->name)) report(flag->name, *word.value, "is given twice");
    values.uses_.push_back({flag->name, *word.value});
    if (flag->kind == FlagKind::Json) {
      Result<Json> parsed = parse_json(*word.value, flag->name);
      if (!parsed.ok()) {
        inspector.report_all(std::move(parsed).error());
      } else if (parsed->object() == nullptr) {
        report(flag->name, parsed->excerpt(), "must be a JSON object");
      } else {
        Json& tree = json_of(flag->name);
        if (tree.is_null()) {
          tree = std::move(parsed).value();
        } else {
          for (auto& [key, member] : *parsed->object()) {
            if (!insert_dotted(tree, std::vector<std::string>{key}, std::move(member))) {
              report(flag->name + "." + printable(key), "", "is given twice");
            }
          }
        }
      }
    } else {
      check_kind(*flag, *word.value, inspector);
    }
  }
  return values;
}

std::string help_text(std::span<const Flag> flags) {
  constexpr std::size_t kColumn = 34, kWidth = 100;
  std::string text;
  for (const Flag& flag : flags) {
    std::string line = "  " + flag.name + (flag.value_name.empty() ? "" : " " + flag.value_name);
    if (line.size() + 2 > kColumn) {
      text += line + "\n";
      line.clear();
    }
    line.resize(kColumn, ' ');
    std::string_view rest = flag.help;
    while (!rest.empty()) {
      std::size_t cut = rest.size();
      if (kColumn + cut > kWidth) {
        cut = rest.rfind(' ', kWidth - kColumn);
        if (cut == std::string_view::npos || cut == 0) cut = std::min(rest.size(), rest.find(' '));
      }
      text += line + std::string(rest.substr(0, cut)) + "\n";
      rest.remove_prefix(std::min(rest.size(), cut + 1));
      line.assign(kColumn, ' ');
    }
  }
  return text;
}

}  // namespace outrider::base
