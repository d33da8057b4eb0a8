#include "base/flags.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "base/strings.h"

namespace outrider::base {
namespace {

const Flag* find_flag(std::span<const Flag> flags, std::string_view name) {
  const auto found =
      std::find_if(flags.begin(), flags.end(), [&](const Flag& flag) { return flag.name == name; });
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

// Sets tree.keys[0].keys[1]... = value; false where a value on the way is no object, or the key is set
// already.
bool insert_dotted(Json& tree, std::span<const std::string> keys, Json value) {
  if (tree.is_null()) tree = Json(Json::Object{});
  Json::Object* object = tree.object();
  if (object == nullptr) return false;
  const auto found = std::find_if(object->begin(), object->end(),
                                  [&](const Json::Member& member) { return member.first == keys[0]; });
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
  const auto found =
      std::find_if(uses_.rbegin(), uses_.rend(), [&](const FlagUse& use) { return use.name == name; });
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
  const auto found =
      std::find_if(json_.begin(), json_.end(), [&](const auto& entry) { return entry.first == name; });
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
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size() ||
      !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

std::string nearest_name(std::string_view unknown, std::span<const Flag> flags) {
  std::string nearest;
  if (unknown.size() >= 6) {  // a beginning of a name is meant as that name, however long the rest
    for (const Flag& flag : flags) {
      if (flag.name.starts_with(unknown) && (nearest.empty() || flag.name.size() < nearest.size()))
        nearest = flag.name;
    }
    if (!nearest.empty()) return nearest;
  }
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

// Reads one word after another; the rules of a flag's value are in one place each.
class FlagReader {
 public:
  FlagReader(std::span<const std::string> words, std::span<const Flag> flags, Inspector& inspector,
             const FlagOptions& options)
      : words_(words), flags_(flags), inspector_(inspector), options_(options) {}

  FlagValues read() && {
    for (next_ = 0; next_ < words_.size();) read_word(apart(words_[next_++]));
    return std::move(values_);
  }

 private:
  void report(std::string field, std::string_view found, std::string rule, std::string remedy = "") {
    inspector_.report({.field = std::move(field),
                       .found = printable(found),
                       .rule = std::move(rule),
                       .remedy = std::move(remedy)});
  }
  // "--name", or "-n" where a letter follows: "-1" is a value.
  bool looks_like_flag(std::string_view word) const {
    if (word.starts_with("--")) return word.size() > 2;
    const bool letter =
        word.size() > 1 && word[0] == '-' && std::isalpha(static_cast<unsigned char>(word[1])) != 0;
    return letter && (options_.unknown_apart || find_short(word) != nullptr);
  }
  const Flag* find_short(std::string_view word) const {
    const std::string_view name = word.substr(0, word.find_first_of("=."));
    for (const Flag& flag : flags_) {
      if (std::find(flag.short_names.begin(), flag.short_names.end(), name) != flag.short_names.end())
        return &flag;
    }
    return nullptr;
  }
  // "-O3": a short name of one letter with a number behind it, as one word. Elsewhere the word stays as it
  // is.
  std::string apart(const std::string& typed) const {
    const bool attached =
        typed.size() > 2 && typed[0] == '-' && typed[1] != '-' && find_short(typed) == nullptr &&
        std::isdigit(static_cast<unsigned char>(typed[2])) != 0 && find_short(typed.substr(0, 2)) != nullptr;
    return attached ? typed.substr(0, 2) + "=" + typed.substr(2) : typed;
  }
  Json& json_of(const std::string& name) {
    for (auto& [known, tree] : values_.json_) {
      if (known == name) return tree;
    }
    return values_.json_.emplace_back(name, Json()).second;
  }

  void read_word(const std::string& typed) {
    if (!looks_like_flag(typed)) {
      values_.positionals_.push_back(typed);
      return;
    }
    Word word = split_word(typed);
    const Flag* flag = typed.starts_with("--") ? find_flag(flags_, word.name) : find_short(typed);
    const bool negated = flag == nullptr && word.name.starts_with("--no-");
    if (negated) flag = find_flag(flags_, "--" + word.name.substr(5));
    const bool no_such_form =
        flag != nullptr && negated && (flag->kind != FlagKind::Switch || !flag->negatable);
    if (flag == nullptr || no_such_form || (!word.keys.empty() && flag->kind != FlagKind::Json)) {
      read_unknown(typed, word);
    } else if (flag->kind == FlagKind::Switch) {
      read_switch(*flag, word, negated);
    } else if (flag->bare_too && !word.value && (next_ == words_.size() || looks_like_flag(words_[next_]))) {
      values_.uses_.push_back({flag->name, "true"});
    } else if (take_value(*flag, word)) {
      read_value(typed, *flag, word);
      while (flag->many && next_ < words_.size() && !looks_like_flag(words_[next_])) {
        values_.uses_.push_back({flag->name, words_[next_++]});
      }
    }
  }

  void read_switch(const Flag& flag, const Word& word, bool negated) {
    const std::string value = word.value.value_or("true");
    if (word.value && options_.bare_switches) {
      report(flag.name, value, "is a switch and takes no value",
             "write " + flag.name + (flag.negatable ? " or --no-" + flag.name.substr(2) : ""));
    } else if (value != "true" && value != "false") {
      report(flag.name, value, "is a switch: true or false, or no value");
    }
    values_.uses_.push_back({flag.name, (value == "true") != negated ? "true" : "false"});
  }

  void read_unknown(const std::string& typed, const Word& word) {
    const std::string near = nearest_name(word.name, flags_);
    if (!options_.unknown_apart) {
      report(printable(typed), "", "is no flag of this command",
             near.empty() ? "" : "did you mean " + near + "?");
      // What looks like its value is no argument of its own: one mistake, one problem.
      if (!word.value && next_ < words_.size() && !looks_like_flag(words_[next_])) ++next_;
      return;
    }
    UnknownFlag unknown{.word = typed.substr(0, typed.find('=')), .value = word.value, .nearest = near};
    if (!unknown.value && next_ < words_.size() && !looks_like_flag(words_[next_]))
      unknown.value = words_[next_++];
    values_.unknown_.push_back(std::move(unknown));
  }

  bool take_value(const Flag& flag, Word& word) {
    if (word.value) return true;
    if (next_ == words_.size() || looks_like_flag(words_[next_])) {
      report(flag.name, "", "needs a value",
             "write " + flag.name + "=VALUE where the value starts with a dash");
      return false;
    }
    word.value = words_[next_++];
    return true;
  }

  void read_value(const std::string& typed, const Flag& flag, const Word& word) {
    if (flag.kind == FlagKind::Json && (options_.json_apart || flag.apart)) {
      values_.uses_.push_back({flag.name, *word.value, word.keys});
      return;
    }
    if (flag.kind == FlagKind::Json && !word.keys.empty()) {
      const Result<Json> parsed = parse_json(*word.value, flag.name);
      Json value = parsed.ok() ? parsed.value() : Json(*word.value);
      if (!insert_dotted(json_of(flag.name), word.keys, std::move(value))) {
        report(printable(typed), *word.value, "this key is set already, or its parent is no object");
      }
      return;
    }
    if (!flag.repeatable && !options_.last_counts && values_.has(flag.name))
      report(flag.name, *word.value, "is given twice");
    values_.uses_.push_back({flag.name, *word.value});
    if (flag.kind == FlagKind::Json) {
      read_json(flag, *word.value);
    } else {
      check_kind(flag, *word.value, inspector_);
    }
  }

  void read_json(const Flag& flag, const std::string& text) {
    Result<Json> parsed = parse_json(text, flag.name);
    if (!parsed.ok()) {
      inspector_.report_all(std::move(parsed).error());
      return;
    }
    if (parsed->object() == nullptr) {
      report(flag.name, parsed->excerpt(), "must be a JSON object");
      return;
    }
    Json& tree = json_of(flag.name);
    if (tree.is_null()) {
      tree = std::move(parsed).value();
      return;
    }
    for (auto& [key, member] : *parsed->object()) {
      if (!insert_dotted(tree, std::vector<std::string>{key}, std::move(member))) {
        report(flag.name + "." + printable(key), "", "is given twice");
      }
    }
  }

  std::span<const std::string> words_;
  std::span<const Flag> flags_;
  Inspector& inspector_;
  const FlagOptions options_;
  std::size_t next_ = 0;
  FlagValues values_;
};

FlagValues parse_flags(std::span<const std::string> words, std::span<const Flag> flags, Inspector& inspector,
                       const FlagOptions& options) {
  return FlagReader(words, flags, inspector, options).read();
}

std::string help_text(std::span<const Flag> flags) {
  constexpr std::size_t kColumn = 34, kWidth = 100;
  std::string text;
  for (const Flag& flag : flags) {
    std::string line = "  ";
    for (const std::string& name : flag.short_names) line += name + ", ";
    line += flag.name + (flag.value_name.empty() ? "" : " " + flag.value_name);
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
