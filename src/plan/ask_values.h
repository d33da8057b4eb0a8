// Texts and JSON values -> the optional members of what was asked, by the member's type and the field's list
// of words.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "plan/plan.h"

namespace outrider::plan {

// The words that a field takes under an engine's rules, and where a command runs the plan; empty: any.
std::vector<std::string_view> words_of(std::string_view field, Engine engine, Use use = Use::Plan);

// A word in the one spelling that a field's list has: vLLM takes kernels in any case and with dashes.
std::string spelled(std::string_view field, const std::string& typed, Engine engine);

// "is not one of a, b, c; did you mean b?" as a problem of rule CLI, or nothing.
std::optional<Problem> word_problem(std::string_view field_name, std::string_view printed_field,
                                    const std::string& value, Engine engine, Use use = Use::Plan);

// Sets a member from a JSON value; false where the kind does not fit. Null leaves it absent. `loose`: from a
// dotted flag, where text needs no quotes.
bool assign(std::optional<bool>& member, const Json& value, bool loose);
bool assign(std::optional<std::int64_t>& member, const Json& value, bool loose);
bool assign(std::optional<double>& member, const Json& value, bool loose);
bool assign(std::optional<std::string>& member, const Json& value, bool loose);
bool assign(std::optional<Json>& member, const Json& value, bool loose);

// "an integer", for the message.
constexpr std::string_view kind_of(const std::optional<bool>&) { return "true or false"; }
constexpr std::string_view kind_of(const std::optional<std::int64_t>&) { return "an integer"; }
constexpr std::string_view kind_of(const std::optional<double>&) { return "a number"; }
constexpr std::string_view kind_of(const std::optional<std::string>&) { return "a string"; }
constexpr std::string_view kind_of(const std::optional<Json>&) { return "a JSON object or list"; }

// Nearest of some names, or empty.
std::string nearest_of(std::string_view unknown, const std::vector<std::string_view>& names);

}  // namespace outrider::plan
