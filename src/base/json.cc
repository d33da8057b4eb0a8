#include "base/json.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/json_write.h"
#include "base/strings.h"

namespace outrider::base {
namespace {

// Builds the tree from the parser's events (Boost.JSON's handler concept).
struct TreeBuilder {
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_array_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_key_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_string_size = std::numeric_limits<std::size_t>::max();
  using error_code = boost::json::error_code;
  using string_view = boost::json::string_view;

  std::vector<Json> open;         // arrays and objects not yet closed, outermost first
  std::vector<std::string> keys;  // the pending key of each open object ("" for arrays)
  std::string text;               // parts of the current string, key or number
  Json root;
  std::string fault;                                 // our own reason to stop
  std::vector<JsonDuplicate>* duplicates = nullptr;  // where to list them instead of stopping

  bool stop(std::string why, error_code& ec) {
    fault = std::move(why);
    ec = boost::json::error::exception;
    return false;
  }
  bool add(Json value) {
    if (open.empty()) {
      root = std::move(value);
    } else if (Json::Array* array = open.back().array()) {
      array->push_back(std::move(value));
    } else {
      open.back().object()->emplace_back(std::exchange(keys.back(), {}), std::move(value));
    }
    return true;
  }
  // Where in the tree the parser stands, "rope_scaling.factor": the keys whose values are not complete.
  std::string path() const {
    std::string joined;
    for (const std::string& key : keys) {
      if (!key.empty()) joined += (joined.empty() ? "" : ".") + key;
    }
    return printable(joined);
  }
  bool begin(Json value) {
    open.push_back(std::move(value));
    keys.emplace_back();
    return true;
  }
  bool end() {
    Json value = std::move(open.back());
    open.pop_back();
    keys.pop_back();
    return add(std::move(value));
  }
  static const std::string* duplicate_key(const Json::Object& object) {
    std::vector<const std::string*> names;
    names.reserve(object.size());
    for (const Json::Member& member : object) names.push_back(&member.first);
    std::sort(names.begin(), names.end(), [](auto* a, auto* b) { return *a < *b; });
    const auto twice =
        std::adjacent_find(names.begin(), names.end(), [](auto* a, auto* b) { return *a == *b; });
    return twice == names.end() ? nullptr : *twice;
  }

  // Lists each duplicate and keeps the last value, in the first one's place.
  void list_duplicates(Json::Object& object) {
    std::string path;
    for (std::size_t i = 0; i + 1 < keys.size(); ++i) path += keys[i].empty() ? "" : keys[i] + ".";
    for (std::size_t i = 0; i < object.size(); ++i) {
      for (std::size_t j = i + 1; j < object.size();) {
        if (object[j].first != object[i].first) {
          ++j;
          continue;
        }
        duplicates->push_back(
            {.path = path + object[i].first, .first = object[i].second, .last = object[j].second});
        object[i].second = std::move(object[j].second);
        object.erase(object.begin() + static_cast<std::ptrdiff_t>(j));
      }
    }
  }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return begin(Json(Json::Object{})); }
  bool on_object_end(std::size_t, error_code& ec) {
    if (const std::string* key = duplicate_key(*open.back().object())) {
      if (duplicates != nullptr) {
        list_duplicates(*open.back().object());
        return end();
      }
      return stop("duplicate key \"" + printable(*key) + "\" in the object that ends here", ec);
    }
    return end();
  }
  bool on_array_begin(error_code&) { return begin(Json(Json::Array{})); }
  bool on_array_end(std::size_t, error_code&) { return end(); }
  bool on_key_part(string_view part, std::size_t, error_code&) {
    text.append(part.data(), part.size());
    return true;
  }
  bool on_key(string_view part, std::size_t, error_code&) {
    text.append(part.data(), part.size());
    keys.back() = std::exchange(text, {});
    return true;
  }
  bool on_string_part(string_view part, std::size_t, error_code&) {
    text.append(part.data(), part.size());
    return true;
  }
  bool on_string(string_view part, std::size_t, error_code&) {
    text.append(part.data(), part.size());
    return add(Json(std::exchange(text, {})));
  }
  bool on_number_part(string_view part, error_code&) {
    text.append(part.data(), part.size());
    return true;
  }
  bool on_int64(std::int64_t value, string_view, error_code&) {
    text.clear();
    return add(Json(value));
  }
  bool on_uint64(std::uint64_t value, string_view, error_code&) {
    text.clear();
    if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return add(Json(static_cast<std::int64_t>(value)));
    }
    return add(Json(static_cast<double>(value)));
  }
  bool on_double(double value, string_view part, error_code& ec) {
    text.append(part.data(), part.size());
    // Boost.JSON 1.81 computes doubles with an error of some ulps; the digits are read again, correctly
    // rounded.
    double exact = value;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), exact);
    if (read.ec == std::errc::result_out_of_range || !std::isfinite(read.ec == std::errc() ? exact : value)) {
      const bool tiny = std::isfinite(value) && std::abs(value) < 1;
      if (!tiny) return stop("number " + printable(text) + " is beyond a double", ec);
      exact = 0;
    }
    text.clear();
    return add(Json(exact));
  }
  bool on_bool(bool value, error_code&) { return add(Json(value)); }
  bool on_null(error_code&) { return add(Json()); }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }
};

std::string place_of(std::string_view text, std::size_t offset) {
  offset = std::min(offset, text.size());
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = 1 + offset - (newline == std::string_view::npos ? 0 : newline + 1);
  return "line " + std::to_string(line) + ", column " + std::to_string(column) + " (byte " +
         std::to_string(offset) + ")";
}

}  // namespace

std::optional<double> Json::number() const {
  if (const std::int64_t* whole = integer()) return static_cast<double>(*whole);
  if (const double* real = std::get_if<double>(&value_)) return *real;
  return std::nullopt;
}

const Json* Json::find(std::string_view key) const {
  const Object* members = object();
  if (members == nullptr) return nullptr;
  const auto found =
      std::find_if(members->begin(), members->end(), [&](const Member& m) { return m.first == key; });
  return found == members->end() ? nullptr : &found->second;
}

std::string_view Json::kind_name() const {
  constexpr std::string_view kNames[] = {"null",     "a boolean", "an integer", "a number",
                                         "a string", "an array",  "an object"};
  return kNames[value_.index()];
}

std::string Json::excerpt(std::size_t limit) const {
  JsonWriter writer;
  writer.value(*this);
  return printable(writer.text(), limit);
}

Result<Json> parse_json(std::string_view text, const std::string& source, const JsonLimits& limits) {
  const auto fail = [&](std::size_t offset, std::string rule) -> Result<Json> {
    return refuse(Problem{
        .field = source + ": " + place_of(text, offset), .found = "", .rule = std::move(rule), .remedy = ""});
  };
  if (text.size() > limits.bytes_max) {
    return fail(0, "not read: " + std::to_string(text.size()) + " bytes of JSON, the limit is " +
                       std::to_string(limits.bytes_max));
  }
  boost::json::parse_options options;
  options.max_depth = limits.depth_max;
  boost::json::basic_parser<TreeBuilder> parser(options);
  parser.handler().duplicates = limits.duplicates;
  boost::json::error_code ec;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), ec);
  if (ec) {
    const TreeBuilder& builder = parser.handler();
    std::string why = builder.fault.empty() ? ec.message() : builder.fault;
    if (!is_utf8(text)) why += "; the bytes are not UTF-8";
    const std::string path = builder.path();
    if (!path.empty()) why += ", in the value of \"" + path + "\"";
    return fail(used, "not JSON: " + why);
  }
  const std::size_t rest = text.find_first_not_of(" \t\r\n", used);
  if (rest != std::string_view::npos) return fail(rest, "not JSON: text after the value ends");
  return std::move(parser.handler().root);
}

void apply_merge_patch(Json& target, const Json& patch) {
  const Json::Object* changes = patch.object();
  if (changes == nullptr) {
    target = patch;
    return;
  }
  if (target.object() == nullptr) target = Json(Json::Object{});
  Json::Object& members = *target.object();
  for (const auto& [key, value] : *changes) {
    const auto same = [&key = key](const Json::Member& member) { return member.first == key; };
    auto found = std::find_if(members.begin(), members.end(), same);
    if (value.is_null()) {
      if (found != members.end()) members.erase(found);
      continue;
    }
    if (found == members.end()) found = members.insert(members.end(), {key, Json()});
    apply_merge_patch(found->second, value);
  }
}

}  // namespace outrider::base
