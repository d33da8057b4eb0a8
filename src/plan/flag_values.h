// Texts of flags as numbers, read as Python reads them, and what is wrong with a known flag's value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "plan/known_flags.h"

namespace outrider::plan {

// "8", " +8 ", "1_000": what int() takes, in 64 bits.
std::optional<std::int64_t> parse_python_integer(std::string_view text);

// "4096", "32k" (thousand), "32K" (1024), "1.5m"; fractions with small letters only. Absent where it is no
// such number.
std::optional<std::int64_t> parse_token_count(std::string_view text);

// "must be an integer", "must be one of a, b"; absent where the value is taken.
std::optional<std::string> wrong_value(const KnownFlag& flag, const std::string& value);

}  // namespace outrider::plan
