#include "checkpoint/header_reader.h"

#include <boost/json/basic_parser_impl.hpp>
#include <limits>

#include "base/strings.h"

namespace outrider::checkpoint {
namespace {

constexpr std::size_t kShortText = 64;  // dtypes and excerpts: longer text is not kept

enum class Field { None, Dtype, Shape, Offsets };

constexpr std::string_view name_of(Field field) {
  return field == Field::Dtype     ? "dtype"
         : field == Field::Shape   ? "shape"
         : field == Field::Offsets ? "data_offsets"
                                   : "";
}

// Boost.JSON's handler concept. Depth 1 is the header's object, 2 an entry or the metadata, 3 a list of an
// entry; whatever lies deeper belongs to a value that was reported where it began.
struct HeaderHandler {
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_array_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_key_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_string_size = std::numeric_limits<std::size_t>::max();
  using error_code = boost::json::error_code;
  using string_view = boost::json::string_view;

  const SafetensorsLimits& limits;
  RawHeader& header;
  ProblemList& problems;

  int depth = 0;
  bool in_metadata = false;
  bool metadata_seen = false;
  Field field = Field::None;
  int skipping =
      0;  // where a value is passed over (reported, or of an unknown field): the depth it stands at
  unsigned fields_seen = 0;  // a bit for each Field of the current entry
  std::string key;           // of metadata
  std::string text;          // parts of the current key or string
  std::string fault;         // our own reason to stop

  HeaderHandler(const SafetensorsLimits& l, RawHeader& h, ProblemList& p)
      : limits(l), header(h), problems(p) {}

  RawEntry& entry() { return header.entries.back(); }
  bool in_entry() const { return depth >= 2 && !in_metadata; }

  bool stop(std::string why, error_code& ec) {
    fault = std::move(why);
    ec = boost::json::error::exception;
    return false;
  }
  void report(std::string_view field_name, std::string found, std::string rule) {
    entry().faulty = true;
    problems.add_for(entry().name, field_name, std::move(found), std::move(rule));
  }

  // --- where a value begins ---

  // A value that stands where `kind` does not belong: reported once, at its beginning.
  bool judge(std::string_view kind, error_code& ec) {
    if (depth == 0) return stop("the header is " + std::string(kind) + ", it must be an object", ec);
    if (skipping != 0) return true;
    if (depth == 1) {
      if (in_metadata) {
        problems.add("header: __metadata__", std::string(kind), "must be an object of texts");
      } else {
        report("", std::string(kind), "must be an object of dtype, shape and data_offsets");
      }
    } else if (in_metadata) {
      if (depth == 2)
        problems.add("header: __metadata__: " + base::printable(key), std::string(kind), "must be a text");
    } else if (depth == 2) {
      report(name_of(field), std::string(kind),
             field == Field::Dtype ? "must be a text" : "must be an array of integers");
    } else if (depth == 3 && field != Field::None) {
      report(name_of(field), std::string(kind) + " in the array", "must hold integers only");
    }
    return true;
  }
  bool integer(std::int64_t value, error_code& ec) {
    std::vector<std::int64_t>* list = integers();
    if (list == nullptr) return judge("a number", ec);
    if (value < 0) {
      report(name_of(field), std::to_string(value) + " in the array", "must not be negative");
    } else if (list->size() <= limits.rank_max) {  // one beyond the limit is enough to be told
      list->push_back(value);
    }
    return true;
  }
  std::vector<std::int64_t>* integers() {
    if (depth != 3 || !in_entry() || skipping != 0) return nullptr;
    std::optional<std::vector<std::int64_t>>* list = field == Field::Shape     ? &entry().shape
                                                     : field == Field::Offsets ? &entry().offsets
                                                                               : nullptr;
    return list != nullptr && list->has_value() ? &**list : nullptr;
  }

  // --- brackets ---

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code& ec) {
    if (depth >= 2) return begin_misplaced("an object", ec);
    if (depth == 1) fields_seen = 0;
    ++depth;
    return true;
  }
  bool on_object_end(std::size_t, error_code&) {
    if (!end_container() || depth != 1) return true;
    if (!in_metadata && !entry().faulty) {
      for (const Field wanted : {Field::Dtype, Field::Shape, Field::Offsets}) {
        if ((fields_seen & 1u << static_cast<unsigned>(wanted)) == 0)
          report(name_of(wanted), "", "is missing");
      }
    }
    in_metadata = false;
    return true;
  }
  bool on_array_begin(error_code& ec) {
    const bool wanted =
        depth == 2 && in_entry() && skipping == 0 && (field == Field::Shape || field == Field::Offsets);
    if (!wanted) return begin_misplaced("an array", ec);
    (field == Field::Shape ? entry().shape : entry().offsets).emplace();
    ++depth;
    return true;
  }
  bool on_array_end(std::size_t, error_code&) {
    end_container();
    return true;
  }
  bool begin_misplaced(std::string_view kind, error_code& ec) {
    if (!judge(kind, ec)) return false;
    if (skipping == 0) skipping = depth;
    ++depth;
    return true;
  }
  // False where the container was passed over.
  bool end_container() {
    --depth;
    const bool skipped = skipping != 0;
    if (depth == skipping) skipping = 0;
    if (skipped && depth == 1) in_metadata = false;
    return !skipped;
  }

  // --- keys ---

  bool on_key_part(string_view part, std::size_t count, error_code& ec) {
    if (count > limits.name_bytes_max) {
      return stop(
          "a name of more than " + std::to_string(limits.name_bytes_max) + " bytes: " +
              base::printable(text.empty() ? std::string_view(part.data(), part.size()) : text, kShortText),
          ec);
    }
    text.append(part.data(), part.size());
    return true;
  }
  bool on_key(string_view part, std::size_t count, error_code& ec) {
    if (!on_key_part(part, count, ec)) return false;
    std::string name = std::exchange(text, {});
    if (skipping != 0) return true;
    if (depth == 1) return begin_entry(std::move(name), ec);
    if (in_metadata) {
      if (header.metadata.size() == limits.metadata_max) {
        return stop("more than " + std::to_string(limits.metadata_max) + " texts in __metadata__", ec);
      }
      key = std::move(name);
    } else {
      begin_field(name);
    }
    return true;
  }
  bool begin_entry(std::string name, error_code& ec) {
    in_metadata = name == "__metadata__";
    field = Field::None;
    if (in_metadata) {
      if (metadata_seen) return stop("duplicate key \"__metadata__\"", ec);
      metadata_seen = true;
      return true;
    }
    if (header.entries.size() == limits.tensors_max) {
      return stop("more than " + std::to_string(limits.tensors_max) + " tensors in one file", ec);
    }
    header.entries.push_back({.name = std::move(name), .dtype = {}, .shape = {}, .offsets = {}});
    return true;
  }
  void begin_field(const std::string& name) {
    field = Field::None;
    for (const Field known : {Field::Dtype, Field::Shape, Field::Offsets}) {
      if (name == name_of(known)) field = known;
    }
    if (field == Field::None) {
      skipping = depth;
      if (header.warnings.size() < kProblemsListed) {
        header.warnings.push_back("tensor " + base::printable(entry().name) +
                                  " has a field that the format does not know: " + base::printable(name));
      }
      return;
    }
    const unsigned bit = 1u << static_cast<unsigned>(field);
    if ((fields_seen & bit) != 0) report(name_of(field), "", "duplicate key: the field is given twice");
    fields_seen |= bit;
  }

  // --- leaves ---

  bool leaf_done() {
    if (depth == skipping) skipping = 0;
    if (depth == 1) in_metadata = false;
    return true;
  }
  // Text is kept where it means something; metadata may be long.
  void keep(string_view part) {
    if (skipping != 0) return;
    if (depth == 2 && in_metadata) {
      text.append(part.data(), part.size());
    } else if (text.size() < kShortText) {
      text.append(part.data(), std::min(part.size(), kShortText));
    }
  }
  bool on_string_part(string_view part, std::size_t, error_code&) {
    keep(part);
    return true;
  }
  bool on_string(string_view part, std::size_t, error_code& ec) {
    keep(part);
    std::string value = std::exchange(text, {});
    if (depth == 2 && in_metadata && skipping == 0) {
      header.metadata.emplace_back(key, std::move(value));
    } else if (depth == 2 && field == Field::Dtype && skipping == 0) {
      entry().dtype = std::move(value);
    } else if (!judge("a text", ec)) {
      return false;
    }
    return leaf_done();
  }
  bool on_number_part(string_view, error_code&) { return true; }
  bool on_int64(std::int64_t value, string_view, error_code& ec) { return integer(value, ec) && leaf_done(); }
  bool on_uint64(std::uint64_t value, string_view, error_code& ec) {
    if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return integer(static_cast<std::int64_t>(value), ec) && leaf_done();
    }
    if (integers() == nullptr) return judge("a number", ec) && leaf_done();
    report(name_of(field), std::to_string(value) + " in the array", "is more than any file holds");
    return leaf_done();
  }
  bool on_double(double value, string_view, error_code& ec) {
    if (integers() == nullptr) return judge("a number", ec) && leaf_done();
    report(name_of(field), base::to_text(value) + " in the array",
           "must hold integers only, none beyond 2^63");
    return leaf_done();
  }
  bool on_bool(bool, error_code& ec) { return judge("a boolean", ec) && leaf_done(); }
  bool on_null(error_code& ec) { return judge("null", ec) && leaf_done(); }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }
};

}  // namespace

bool read_header(std::string_view json, std::size_t offset_in_file, const SafetensorsLimits& limits,
                 RawHeader& header, ProblemList& problems) {
  boost::json::parse_options options;
  options.max_depth =
      8;  // three levels are meant; deeper ones give a better message than this limit's while they are few
  boost::json::basic_parser<HeaderHandler> parser(options, limits, header, problems);
  boost::json::error_code ec;
  std::size_t used = parser.write_some(false, json.data(), json.size(), ec);
  std::string why;
  if (ec) {
    const HeaderHandler& handler = parser.handler();
    why = handler.fault.empty() ? "not JSON: " + ec.message() : handler.fault;
    if (!base::is_utf8(json)) why += "; the bytes are not UTF-8";
    if (!header.entries.empty())
      why += "; the last tensor begun is " + base::printable(header.entries.back().name);
  } else {
    const std::size_t rest = json.find_first_not_of(" \t\r\n", used);
    if (rest == std::string_view::npos) return true;
    used = rest;
    why = "not JSON: text after the object ends";
  }
  problems.add("header: byte " + std::to_string(offset_in_file + used), "", std::move(why));
  return false;
}

}  // namespace outrider::checkpoint
