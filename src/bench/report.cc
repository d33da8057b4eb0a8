// The report as JSON, there and back.
#include "bench/report.h"

#include "base/inspector.h"
#include "base/json_write.h"

namespace outrider::bench {
namespace {

const char* name_of(Better better) {
  switch (better) {
    case Better::Less:
      return "less";
    case Better::More:
      return "more";
    case Better::Neither:
      return "neither";
  }
  return "";
}

void write_limits(base::JsonWriter& json, const char* key, const Limits& limits) {
  json.key(key).begin_object();
  json.key("bandwidth").value(limits.bandwidth);
  json.key("fp32").value(limits.fp32);
  json.key("bf16").value(limits.bf16);
  json.key("int8").value(limits.int8).end_object();
}

void write_figure(base::JsonWriter& json, const Figure& figure) {
  json.begin_object();
  json.key("name").value(figure.name);
  json.key("unit").value(figure.unit);
  json.key("better").value(name_of(figure.better));
  json.key("median").value(figure.spread.median);
  json.key("low").value(figure.spread.low);
  json.key("high").value(figure.spread.high);
  json.key("count").value(figure.spread.count);
  if (figure.target) json.key("target").value(*figure.target);
  json.end_object();
}

// Members of one object; each that is missing or of another kind is a problem that names its path.
class Fields {
 public:
  Fields(const base::Json& json, std::string path, base::Inspector& inspector)
      : json_(json), path_(std::move(path)), inspector_(inspector) {}

  double number(const char* key) {
    const base::Json* value = find(key, "must be a number");
    if (value == nullptr) return 0;
    const auto found = value->number();
    if (!found) report(key, value->excerpt(), "must be a number");
    return found.value_or(0);
  }
  std::string text(const char* key) {
    const base::Json* value = find(key, "must be a string");
    if (value == nullptr) return {};
    if (value->string() != nullptr) return *value->string();
    report(key, value->excerpt(), "must be a string");
    return {};
  }
  base::Json::Array array(const char* key) {
    const base::Json* value = find(key, "must be a list");
    if (value == nullptr) return {};
    if (value->array() != nullptr) return *value->array();
    report(key, value->excerpt(), "must be a list");
    return {};
  }
  const base::Json* find(const char* key, const char* rule) {
    const base::Json* value = json_.find(key);
    if (value == nullptr) report(key, "", rule);
    return value;
  }
  void report(const char* key, const std::string& found, const char* rule) {
    inspector_.report({.field = path_ + key, .found = found, .rule = rule, .remedy = ""});
  }

 private:
  const base::Json& json_;
  std::string path_;
  base::Inspector& inspector_;
};

Limits read_limits(Fields& fields, const char* key, const std::string& path, base::Inspector& inspector) {
  const base::Json* json = fields.find(key, "must be an object");
  if (json == nullptr) return {};
  Fields inner(*json, path + key + ".", inspector);
  return {.bandwidth = inner.number("bandwidth"),
          .fp32 = inner.number("fp32"),
          .bf16 = inner.number("bf16"),
          .int8 = inner.number("int8")};
}

Figure read_figure(const base::Json& json, const std::string& path, base::Inspector& inspector) {
  Fields fields(json, path, inspector);
  Figure figure{
      .name = fields.text("name"), .unit = fields.text("unit"), .better = Better::Neither, .spread = {}};
  const std::string better = fields.text("better");
  if (better == "less") figure.better = Better::Less;
  if (better == "more") figure.better = Better::More;
  if (better != "less" && better != "more" && better != "neither") {
    fields.report("better", better, "must be less, more or neither");
  }
  figure.spread = {.median = fields.number("median"),
                   .low = fields.number("low"),
                   .high = fields.number("high"),
                   .count = static_cast<int>(fields.number("count"))};
  if (json.find("target") != nullptr) figure.target = fields.number("target");
  return figure;
}

PartReport read_part(const base::Json& json, const std::string& path, base::Inspector& inspector) {
  Fields fields(json, path, inspector);
  PartReport part{.part = fields.text("part")};
  part.before = read_limits(fields, "before", path, inspector);
  part.after = read_limits(fields, "after", path, inspector);
  part.foreign_cores = fields.number("foreign_cores");
  const base::Json::Array figures = fields.array("figures");
  for (std::size_t i = 0; i < figures.size(); ++i) {
    part.figures.push_back(read_figure(figures[i], path + "figures[" + std::to_string(i) + "].", inspector));
  }
  for (const base::Json& note : fields.array("notes")) {
    if (note.string() != nullptr) part.notes.push_back(*note.string());
  }
  return part;
}

}  // namespace

std::string to_json(const Report& report) {
  base::JsonWriter json;
  json.begin_object().key("facts").begin_object();
  for (const auto& [name, text] : report.facts) json.key(name).value(text);
  json.end_object().key("parts").begin_array();
  for (const PartReport& part : report.parts) {
    json.begin_object().key("part").value(part.part);
    write_limits(json, "before", part.before);
    write_limits(json, "after", part.after);
    json.key("foreign_cores").value(part.foreign_cores);
    json.key("figures").begin_array();
    for (const Figure& figure : part.figures) write_figure(json, figure);
    json.end_array().key("notes").values(part.notes).end_object();
  }
  json.end_array().end_object();
  return json.text();
}

base::Result<Report> parse_report(const base::Json& json, const std::string& source) {
  base::Inspector inspector;
  Fields fields(json, source + ": ", inspector);
  Report report;
  const base::Json* facts = fields.find("facts", "must be an object");
  if (facts != nullptr && facts->object() != nullptr) {
    for (const auto& [name, value] : *facts->object()) {
      if (value.string() != nullptr) report.facts.emplace_back(name, *value.string());
    }
  }
  const base::Json::Array parts = fields.array("parts");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string path = source + ": parts[" + std::to_string(i) + "].";
    report.parts.push_back(read_part(parts[i], path, inspector));
  }
  if (!inspector.clean()) return std::move(inspector).refuse();
  return report;
}

}  // namespace outrider::bench
