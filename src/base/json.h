// JSON in: a value tree, parsed strictly. Refused, with line and column: what RFC 8259 does not allow (NaN,
// comments, trailing commas), bytes that are not UTF-8, nesting beyond the limit, numbers beyond a double,
// and a duplicate key, by its name. The parser underneath is Boost.JSON's; this header stays light. JSON out:
// json_write.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace outrider::base {

class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;  // in the order of the text; keys are distinct

  Json() = default;
  explicit Json(bool value) : value_(value) {}
  explicit Json(std::int64_t value) : value_(value) {}
  explicit Json(double value) : value_(value) {}
  explicit Json(std::string value) : value_(std::move(value)) {}
  explicit Json(Array value) : value_(std::move(value)) {}
  explicit Json(Object value) : value_(std::move(value)) {}

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  // Pointers are null where the value is of another kind. 1.0 is no integer; an integer is also a number.
  const bool* boolean() const { return std::get_if<bool>(&value_); }
  const std::int64_t* integer() const { return std::get_if<std::int64_t>(&value_); }
  std::optional<double> number() const;
  const std::string* string() const { return std::get_if<std::string>(&value_); }
  const Array* array() const { return std::get_if<Array>(&value_); }
  const Object* object() const { return std::get_if<Object>(&value_); }
  Array* array() { return std::get_if<Array>(&value_); }
  Object* object() { return std::get_if<Object>(&value_); }

  // The member of that name, or null: also where this is no object.
  const Json* find(std::string_view key) const;

  // "null", "a boolean", "an integer", "a number", "a string", "an array", "an object"
  std::string_view kind_name() const;
  // Compact JSON text, cut at `limit` bytes with "...": for messages.
  std::string excerpt(std::size_t limit = 60) const;

  friend bool operator==(const Json&, const Json&) = default;

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
};

// A key that an object has more than once.
struct JsonDuplicate {
  std::string path;  // "draft.num_redundant_experts": the keys down to it (arrays leave no part)
  Json first, last;
};

struct JsonLimits {
  std::size_t depth_max = 32;
  std::size_t bytes_max = std::size_t{1} << 30;
  // Where set, duplicate keys are no fault of the text: they are listed here, and the last value stays.
  std::vector<JsonDuplicate>* duplicates = nullptr;
};

// `source` names the text in messages: a file or a flag. An integer beyond 64 bits (signed) becomes a double.
Result<Json> parse_json(std::string_view text, const std::string& source, const JsonLimits& limits = {});

// JSON merge patch (RFC 7396, before that 7386): objects are merged key by key, null removes a key,
// everything else replaces.
void apply_merge_patch(Json& target, const Json& patch);

}  // namespace outrider::base
