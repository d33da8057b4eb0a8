// Values of flags and keys of JSON flags -> the optional members of Intent, by the member's type. What does
// not fit is told, and the rest is still read.
#pragma once

#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "base/flags.h"
#include "base/strings.h"
#include "plan/ask_values.h"
#include "plan/command_line.h"
#include "plan/intent_flags.h"
#include "plan/json_flags.h"
#include "plan/judged_flags.h"
#include "plan/known_flags.h"

namespace outrider::plan {

class AskReader {
 public:
  AskReader(Engine engine, CommandLine& out)
      : engine_(engine), use_(out.intent.use), out_(out), json_(engine, out.problems) {}

  void problem(std::string rule, std::string field, std::string value, std::string message,
               std::string remedy);

  // Faults of form: a value that is missing, or one that a switch does not take.
  void read_faults(const base::Inspector& inspector);

  void read_unknown(const std::vector<base::UnknownFlag>& unknown);

  void read_targets(const base::FlagValues& values) {
    base::for_each_field(out_.intent.target, [&](const auto& field, auto& member) {
      const std::string flag = dashed(field.name);
      for (const base::FlagUse& use : values.uses()) {
        if (use.name == flag) read_target(std::string(field.name), use, member);
      }
      if (member && !field.note.engines.has(engine_)) not_ours(flag);
    });
  }

  // Known flags without a part in the plan: their values as vLLM takes them; under our own rules only those
  // that a command of ours has.
  void read_others(const base::FlagValues& values);

  JsonFlags& json() { return json_; }

  // Keys of an object that a later reader takes: not told as unknown.
  void skip_keys(std::set<std::string, std::less<>> keys) { special_keys_ = std::move(keys); }

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

 private:
  void not_ours(const std::string& flag);

  void read_known(const base::FlagValues& values, const KnownFlag& known);
  void read_target(const std::string& name, const base::FlagUse& use, std::optional<bool>& member);
  void read_target(const std::string& name, const base::FlagUse& use, std::optional<std::int64_t>& member);
  void read_target(const std::string& name, const base::FlagUse& use, std::optional<std::string>& member);
  void read_target(const std::string& name, const base::FlagUse& use, std::optional<Json>& member);

  template <class Field, class Member>
  void read_member(const Field& field, const std::string& key, const Json& value, Member& member,
                   const std::string& key_prefix, const std::string& field_prefix) {
    const std::string printed = key_prefix + printed_key(key, key_prefix);
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
    if (!assign(member, value, json_.loose())) {
      problem("JSON", printed, value.excerpt(),
              printed + " must be " + std::string(kind_of(member)) + ", but is " + value.excerpt(),
              "give " + std::string(kind_of(member)));
      return;
    }
    if constexpr (std::is_same_v<Member, std::optional<std::string>>) {
      if (!member) return;
      *member = spelled(key, *member, engine_);
      if (auto wrong = word_problem(key, printed, *member, engine_, use_)) {
        out_.problems.push_back(std::move(*wrong));
        member.reset();
      }
    }
  }

  // Keys of the speculative config are settings of the drafter.
  static std::string printed_key(const std::string& key, const std::string& key_prefix) {
    if (!key_prefix.empty()) return key;
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
            near.empty() ? "leave it out" : "did you mean " + near + "?");
  }

  Engine engine_;
  Use use_;
  CommandLine& out_;
  JsonFlags json_;
  std::set<std::string, std::less<>> special_keys_;
};

}  // namespace outrider::plan
