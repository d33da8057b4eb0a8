// JSON out: one writer, commas and escapes its own. Numbers are the shortest text that reads back the same; a
// float that is not finite is written as null, since JSON has no word for it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"

namespace outrider::base {

class JsonWriter {
 public:
  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);
  JsonWriter& value(std::string_view text);  // bytes that are not UTF-8 become U+FFFD
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool flag);
  JsonWriter& value(std::int64_t number);
  JsonWriter& value(int number) { return value(std::int64_t{number}); }
  JsonWriter& value(double number);
  JsonWriter& value(float number);
  JsonWriter& value(const Json& tree);
  JsonWriter& null();
  template <class Range>
  JsonWriter& values(const Range& range) {
    begin_array();
    for (const auto& item : range) value(item);
    return end_array();
  }
  const std::string& text() const { return text_; }

 private:
  void separate();
  std::string text_;
  bool first_ = true;  // nothing written yet inside the innermost bracket, or right after a key
};

}  // namespace outrider::base
