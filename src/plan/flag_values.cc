#include "plan/flag_values.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/flags.h"
#include "base/json.h"

namespace outrider::plan {
namespace {

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Without the underscores that Python allows between digits; absent where one stands elsewhere.
std::optional<std::string> plain_digits(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      plain += text[i];
    } else if (i == 0 || i + 1 == text.size() || !is_digit(text[i - 1]) || !is_digit(text[i + 1])) {
      return std::nullopt;
    }
  }
  return plain;
}

std::optional<double> parse_python_number(std::string_view text) {
  const auto plain = plain_digits(trimmed(text));
  return plain ? base::parse_number(*plain) : std::nullopt;
}

bool is_in(std::string_view range, double value) {
  const std::size_t comma = range.find(',');
  const std::string_view low = range.substr(1, comma - 1),
                         high = range.substr(comma + 1, range.size() - comma - 2);
  const double least = base::parse_number(low).value_or(-HUGE_VAL),
               most = base::parse_number(high).value_or(HUGE_VAL);
  const bool above = range.front() == '[' ? value >= least : value > least;
  const bool below = range.back() == ']' ? value <= most : value < most;
  return above && (high.empty() || below);
}

std::optional<std::string> wrong_number(const KnownFlag& flag, const std::string& value) {
  std::optional<double> number;
  if (flag.kind == KnownKind::Number) {
    number = parse_python_number(value);
    if (!number) return "must be a number";
  } else {
    const auto integer =
        flag.kind == KnownKind::Count ? parse_token_count(value) : parse_python_integer(value);
    if (!integer) return "must be an integer";
    number = static_cast<double>(*integer);
  }
  if (flag.range.empty() || is_in(flag.range, *number)) return std::nullopt;
  const std::string_view low = flag.range.substr(1, flag.range.find(',') - 1);
  if (!flag.range.ends_with(",)")) return "must be in " + std::string(flag.range);
  return (flag.range.front() == '[' ? "must be at least " : "must be above ") + std::string(low);
}

std::optional<std::string> wrong_word(const KnownFlag& flag, const std::string& value) {
  if (flag.words.empty()) return std::nullopt;
  std::string all;
  for (std::string_view left = flag.words; !left.empty();) {
    const std::size_t blank = left.find(' ');
    const std::string_view word = left.substr(0, blank);
    if (word == value) return std::nullopt;
    all += (all.empty() ? "" : ", ") + std::string(word);
    left = blank == std::string_view::npos ? std::string_view() : left.substr(blank + 1);
  }
  return "must be one of " + all;
}

}  // namespace

std::optional<std::int64_t> parse_python_integer(std::string_view text) {
  const auto plain = plain_digits(trimmed(text));
  return plain ? base::parse_integer(*plain) : std::nullopt;
}

std::optional<std::int64_t> parse_token_count(std::string_view typed) {
  if (const auto plain = parse_python_integer(typed)) return plain;
  const std::string_view text = trimmed(typed);
  if (text.size() < 2 || !is_digit(text.front())) return std::nullopt;
  constexpr std::pair<char, double> kUnits[] = {
      {'k', 1e3},    {'m', 1e6},       {'g', 1e9},          {'t', 1e12},
      {'K', 1024.0}, {'M', 1048576.0}, {'G', 1073741824.0}, {'T', 1099511627776.0}};
  for (const auto& [letter, unit] : kUnits) {
    if (text.back() != letter) continue;
    const std::string_view digits = text.substr(0, text.size() - 1);
    const bool whole = std::all_of(digits.begin(), digits.end(), is_digit);
    if (!whole && std::isupper(static_cast<unsigned char>(letter)) != 0) return std::nullopt;
    if (!whole && !std::all_of(digits.begin(), digits.end(), [](char c) { return is_digit(c) || c == '.'; }))
      return std::nullopt;
    const auto number = base::parse_number(digits);
    if (!number || *number * unit > 1e18) return std::nullopt;
    return static_cast<std::int64_t>(*number * unit);
  }
  return std::nullopt;
}

std::optional<std::string> wrong_value(const KnownFlag& flag, const std::string& value) {
  switch (flag.kind) {
    case KnownKind::Switch:
    case KnownKind::OnlyOn:
    case KnownKind::Json:
    case KnownKind::BareOrText:
      return std::nullopt;
    case KnownKind::Integer:
    case KnownKind::Integers:
    case KnownKind::Count:
    case KnownKind::Number:
      return wrong_number(flag, value);
    case KnownKind::AnyJson:
      if (!base::parse_json(value, std::string(flag.name)).ok()) return "must be JSON";
      return std::nullopt;
    case KnownKind::Text:
    case KnownKind::Many:
      return wrong_word(flag, value);
  }
  return std::nullopt;
}

}  // namespace outrider::plan
