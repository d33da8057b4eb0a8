#include "base/json_write.h"

#include <cmath>

#include "base/strings.h"

namespace outrider::base {
namespace {

void append_escaped(std::string& out, char c) {
  constexpr char kHex[] = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  const auto byte = static_cast<unsigned char>(c);
  if (byte < 0x20) {
    out += {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
  } else {
    out += c;
  }
}

void append_string(std::string& out, std::string_view text) {
  out += '"';
  if (is_utf8(text)) {
    for (const char c : text) append_escaped(out, c);
  } else {
    while (!text.empty()) {
      std::size_t length = 1;
      while (length <= 4 && length <= text.size() && !is_utf8(text.substr(0, length))) ++length;
      if (length > 4 || length > text.size()) {
        out += "\xEF\xBF\xBD";
        length = 1;
      } else {
        for (const char c : text.substr(0, length)) append_escaped(out, c);
      }
      text.remove_prefix(length);
    }
  }
  out += '"';
}

}  // namespace

void JsonWriter::separate() {
  if (!first_) text_ += ',';
  first_ = false;
}

JsonWriter& JsonWriter::begin_object() {
  separate();
  text_ += '{';
  first_ = true;
  return *this;
}
JsonWriter& JsonWriter::end_object() {
  text_ += '}';
  first_ = false;
  return *this;
}
JsonWriter& JsonWriter::begin_array() {
  separate();
  text_ += '[';
  first_ = true;
  return *this;
}
JsonWriter& JsonWriter::end_array() {
  text_ += ']';
  first_ = false;
  return *this;
}
JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_string(text_, name);
  text_ += ':';
  first_ = true;
  return *this;
}
JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  append_string(text_, text);
  return *this;
}
JsonWriter& JsonWriter::value(bool flag) {
  separate();
  text_ += flag ? "true" : "false";
  return *this;
}
JsonWriter& JsonWriter::value(std::int64_t number) {
  separate();
  text_ += std::to_string(number);
  return *this;
}
JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  separate();
  text_ += to_text(number);
  return *this;
}
JsonWriter& JsonWriter::value(float number) {
  if (!std::isfinite(number)) return null();
  separate();
  text_ += to_text(number);
  return *this;
}
JsonWriter& JsonWriter::value(const Json& tree) {
  if (const bool* flag = tree.boolean()) return value(*flag);
  if (const std::int64_t* whole = tree.integer()) return value(*whole);
  if (const auto real = tree.number()) return value(*real);
  if (const std::string* string = tree.string()) return value(std::string_view(*string));
  if (const Json::Array* array = tree.array()) return values(*array);
  if (const Json::Object* object = tree.object()) {
    begin_object();
    for (const auto& [name, member] : *object) key(name).value(member);
    return end_object();
  }
  return null();
}
JsonWriter& JsonWriter::null() {
  separate();
  text_ += "null";
  return *this;
}

}  // namespace outrider::base
