// Flag values -> numbers and choices; what is out of range is a problem that names flag, value and rule.
#pragma once

#include <optional>
#include <string>

#include "base/flags.h"
#include "base/inspector.h"
#include "base/strings.h"

namespace outrider::cli {

class FlagReader {
 public:
  FlagReader(const base::FlagValues& values, base::Inspector& inspector)
      : values_(values), inspector_(inspector) {}

  void problem(const std::string& flag, const std::string& found, const std::string& rule) {
    inspector_.report({.field = flag, .found = base::printable(found), .rule = rule, .remedy = ""});
  }
  std::optional<std::int64_t> integer(const char* flag, std::int64_t least, std::int64_t most) {
    const auto value = values_.integer(flag);
    if (value && (*value < least || *value > most)) {
      problem(flag, std::to_string(*value),
              "must be an integer from " + std::to_string(least) + " to " + std::to_string(most));
      return std::nullopt;
    }
    return value;
  }
  void number(const char* flag, double& into) { into = values_.number(flag).value_or(into); }

 private:
  const base::FlagValues& values_;
  base::Inspector& inspector_;
};

}  // namespace outrider::cli
