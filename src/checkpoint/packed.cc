#include "checkpoint/packed.h"

#include <algorithm>

#include "base/inspector.h"
#include "base/json_write.h"
#include "base/strings.h"
#include "kernels/layout.h"

namespace outrider::checkpoint {
namespace {

constexpr std::int64_t kDimensionMax = std::int64_t{1}
                                       << 24;  // as of a config (config_reader.h): no product overflows
constexpr std::size_t kSourcesMax = 16;

const std::string* find(const Metadata& metadata, const std::string& key) {
  const auto found =
      std::find_if(metadata.begin(), metadata.end(), [&](const auto& m) { return m.first == key; });
  return found == metadata.end() ? nullptr : &found->second;
}

std::optional<kernels::WeightFormat> format_of(const std::string& name) {
  if (name == "int8") return kernels::WeightFormat::Int8;
  if (name == "int4") return kernels::WeightFormat::Int4;
  return std::nullopt;
}

// The metadata that must say exactly one thing for these bytes to mean what we take them for.
void require_text(const Metadata& metadata, const std::string& key, const std::string& expected,
                  const std::string& source, base::Inspector& inspector) {
  const std::string* found = find(metadata, key);
  inspector.require(found != nullptr && *found == expected,
                    {.field = source + ": metadata " + key,
                     .found = found == nullptr ? "" : base::printable(*found),
                     .rule = "must be " + expected + ": this engine reads no other packing",
                     .remedy = "pack the original files again with outrider quantize"});
}

bool is_dimension(const base::Json* value) {
  return value != nullptr && value->integer() != nullptr && *value->integer() > 0 &&
         *value->integer() <= kDimensionMax;
}

std::optional<PackedSource> read_source(const base::Json& json) {
  const base::Json::Array* pair = json.array();
  if (pair == nullptr || pair->size() != 2 || (*pair)[0].string() == nullptr || !is_dimension(&(*pair)[1])) {
    return std::nullopt;
  }
  return PackedSource{.name = *(*pair)[0].string(), .rows = *(*pair)[1].integer()};
}

std::optional<PackedMatrixEntry> read_matrix(const base::Json& json) {
  const base::Json *tensor = json.find("tensor"), *format = json.find("format"),
                   *inputs = json.find("inputs"), *sources = json.find("sources");
  if (tensor == nullptr || tensor->string() == nullptr || format == nullptr || format->string() == nullptr) {
    return std::nullopt;
  }
  const auto known = format_of(*format->string());
  if (!known || !is_dimension(inputs) || sources == nullptr || sources->array() == nullptr)
    return std::nullopt;
  if (sources->array()->empty() || sources->array()->size() > kSourcesMax) return std::nullopt;
  PackedMatrixEntry entry{
      .tensor = *tensor->string(), .format = *known, .inputs = *inputs->integer(), .sources = {}};
  for (const base::Json& item : *sources->array()) {
    auto read = read_source(item);
    if (!read) return std::nullopt;
    entry.sources.push_back(std::move(*read));
  }
  return entry;
}

}  // namespace

std::string packed_name(kernels::WeightFormat format) {
  return format == kernels::WeightFormat::Int4 ? "int4" : "int8";
}

base::Result<std::optional<PackedContents>> parse_packed(const Metadata& metadata,
                                                         const std::string& source) {
  const std::string* format = find(metadata, "format");
  if (format == nullptr || *format != kPackedFormat) return std::optional<PackedContents>();
  base::Inspector inspector;
  require_text(metadata, "packing_version", std::to_string(kPackingVersion), source, inspector);
  require_text(metadata, "group_size", std::to_string(kernels::kGroupInputs), source, inspector);
  require_text(metadata, "panel_outputs", std::to_string(kernels::kPanelOutputs), source, inspector);
  const std::string* quantization = find(metadata, "quantization");
  const auto known = quantization == nullptr ? std::nullopt : format_of(*quantization);
  inspector.require(known.has_value(),
                    {.field = source + ": metadata quantization",
                     .found = quantization == nullptr ? "" : base::printable(*quantization),
                     .rule = "must be int8 or int4",
                     .remedy = ""});
  const std::string* matrices = find(metadata, "matrices");
  auto json = base::parse_json(matrices == nullptr ? "null" : *matrices, source + ": metadata matrices");
  if (!json.ok()) inspector.report_all(std::move(json).error());
  if (!inspector.clean()) return std::move(inspector).refuse();
  PackedContents contents{.quantization = *known, .matrices = {}};
  const base::Json::Array* list = json->array();
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    auto entry = read_matrix((*list)[i]);
    if (!entry) {
      return base::refuse({.field = source + ": metadata matrices[" + std::to_string(i) + "]",
                           .found = base::printable((*list)[i].excerpt()),
                           .rule = "must be {tensor, format, inputs, sources: [[name, rows], ..]}",
                           .remedy = ""});
    }
    contents.matrices.push_back(std::move(*entry));
  }
  if (list == nullptr) {
    return base::refuse(
        {.field = source + ": metadata matrices", .found = "", .rule = "must be a list", .remedy = ""});
  }
  return std::optional(std::move(contents));
}

Metadata packed_metadata(const PackedContents& contents) {
  base::JsonWriter json;
  json.begin_array();
  for (const PackedMatrixEntry& matrix : contents.matrices) {
    json.begin_object().key("tensor").value(matrix.tensor).key("format").value(packed_name(matrix.format));
    json.key("inputs").value(matrix.inputs).key("sources").begin_array();
    for (const PackedSource& source : matrix.sources) {
      json.begin_array().value(source.name).value(source.rows).end_array();
    }
    json.end_array().end_object();
  }
  json.end_array();
  return {{"format", kPackedFormat},
          {"packing_version", std::to_string(kPackingVersion)},
          {"quantization", packed_name(contents.quantization)},
          {"group_size", std::to_string(kernels::kGroupInputs)},
          {"panel_outputs", std::to_string(kernels::kPanelOutputs)},
          {"matrices", json.text()}};
}

}  // namespace outrider::checkpoint
