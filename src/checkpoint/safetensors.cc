#include "checkpoint/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "base/strings.h"
#include "checkpoint/header_reader.h"

namespace outrider::checkpoint {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian and are used as they lie");

// The bytes of a shape, or what is wrong with it.
struct ByteCount {
  std::int64_t bytes = 0;
  const char* fault = nullptr;
};

ByteCount count_bytes(const std::vector<std::int64_t>& shape, tensor::Dtype dtype) {
  std::int64_t count = 1;
  for (const std::int64_t dimension : shape) {
    if (__builtin_mul_overflow(count, dimension, &count))
      return {.fault = "has more elements than any file holds"};
  }
  std::int64_t bits = 0;
  if (__builtin_mul_overflow(count, std::int64_t{tensor::bits_of(dtype)}, &bits)) {
    return {.fault = "has more bits than any file holds"};
  }
  if (bits % 8 != 0) return {.fault = "is no whole number of bytes"};
  return {.bytes = bits / 8};
}

// An entry whose fields agree with each other, or nothing and a problem.
std::optional<SafetensorsEntry> check_entry(RawEntry& raw, std::int64_t data_bytes,
                                            const SafetensorsLimits& limits, ProblemList& problems) {
  if (raw.faulty) return std::nullopt;
  const auto fail = [&](std::string_view field, std::string found, std::string rule) {
    problems.add_for(raw.name, field, std::move(found), std::move(rule));
    return std::nullopt;
  };
  const auto dtype = tensor::parse_dtype(*raw.dtype);
  if (!dtype) return fail("dtype", base::printable(*raw.dtype), "is no dtype of safetensors");
  if (raw.shape->size() > limits.rank_max) {
    return fail("shape", "more than " + std::to_string(limits.rank_max) + " dimensions",
                "at most " + std::to_string(limits.rank_max) + " are allowed");
  }
  if (raw.offsets->size() != 2) {
    return fail("data_offsets", shape_text(*raw.offsets), "must be two numbers, begin and end");
  }
  const std::int64_t begin = (*raw.offsets)[0], end = (*raw.offsets)[1];
  const std::string offsets = shape_text(*raw.offsets);
  const std::string meant = std::string(tensor::name_of(*dtype)) + " " + shape_text(*raw.shape);
  if (begin > end) return fail("data_offsets", offsets, "ends before it begins");
  const ByteCount size = count_bytes(*raw.shape, *dtype);
  if (size.fault != nullptr) return fail("shape", meant, size.fault);
  if (size.bytes != end - begin) {
    return fail("data_offsets", offsets,
                std::to_string(end - begin) + " bytes, but " + meant + " has " + std::to_string(size.bytes));
  }
  if (end > data_bytes) {
    return fail("data_offsets", offsets,
                "ends " + std::to_string(end - data_bytes) + " bytes beyond the file, which holds " +
                    std::to_string(data_bytes) + " bytes of data");
  }
  return SafetensorsEntry{.name = std::move(raw.name),
                          .dtype = *dtype,
                          .shape = std::move(*raw.shape),
                          .begin = begin,
                          .end = end};
}

void check_names(const RawHeader& raw, ProblemList& problems) {
  std::vector<std::string_view> names;
  for (const RawEntry& entry : raw.entries) names.push_back(entry.name);
  std::sort(names.begin(), names.end());
  for (auto at = std::adjacent_find(names.begin(), names.end()); at != names.end();
       at = std::adjacent_find(at, names.end())) {
    const std::string_view name = *at;
    problems.add_for(name, "", "", "duplicate name: two entries of the header have it");
    at = std::find_if(at, names.end(), [&](std::string_view other) { return other != name; });
    if (at == names.end()) break;
  }
  std::vector<std::string_view> keys;
  for (const auto& [key, value] : raw.metadata) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  if (const auto at = std::adjacent_find(keys.begin(), keys.end()); at != keys.end()) {
    problems.add("header: __metadata__: " + base::printable(*at), "", "duplicate key");
  }
}

// Entries in the order of the data: each begins where the one before ended, and the last ends with the file.
void check_cover(const std::vector<SafetensorsEntry>& entries, std::int64_t data_bytes,
                 ProblemList& problems) {
  const SafetensorsEntry* before = nullptr;
  std::int64_t expected = 0;
  for (const SafetensorsEntry& entry : entries) {
    const std::string begin = "[" + std::to_string(entry.begin) + ", " + std::to_string(entry.end) + "]";
    if (entry.begin > expected) {
      problems.add_for(entry.name, "data_offsets", begin,
                       "leaves a hole: bytes " + std::to_string(expected) + " to " +
                           std::to_string(entry.begin) + " of the data belong to no tensor");
    } else if (entry.begin < expected) {
      problems.add_for(
          entry.name, "data_offsets", begin,
          "overlaps tensor " + base::printable(before->name) + ", which ends at " + std::to_string(expected));
    }
    if (entry.end >= expected) {
      expected = entry.end;
      before = &entry;
    }
  }
  if (expected < data_bytes) {
    const std::int64_t extra = data_bytes - expected;
    problems.add("data", std::to_string(extra) + (extra == 1 ? " byte" : " bytes") + " after the last tensor",
                 "the file must end where its last tensor ends");
  }
}

}  // namespace

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

base::Result<SafetensorsHeader> parse_safetensors(std::span<const std::byte> file, const std::string& source,
                                                  const SafetensorsLimits& limits) {
  ProblemList problems(source);
  constexpr std::uint64_t kPrefix = 8;
  const auto stop = [&](const char* field, std::string found, std::string rule) {
    problems.add(field, std::move(found), std::move(rule));
    return std::move(problems).refuse();
  };
  if (file.size() < kPrefix) {
    return stop("header length", "a file of " + std::to_string(file.size()) + " bytes",
                "takes 8 bytes: this is no safetensors file");
  }
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, file.data(), kPrefix);
  const std::string found = std::to_string(header_bytes);
  if (header_bytes > file.size() - kPrefix) {
    return stop("header length", found,
                "is beyond the end of the file, which has " + std::to_string(file.size()) + " bytes");
  }
  if (header_bytes > limits.header_bytes_max) {
    return stop("header length", found, "must be at most " + std::to_string(limits.header_bytes_max));
  }
  if (header_bytes < 2)
    return stop("header length", found, "must be at least 2: the header is a JSON object");
  const std::string_view json(reinterpret_cast<const char*>(file.data()) + kPrefix, header_bytes);
  if (json[0] != '{')
    return stop("header: byte 8", base::printable(json.substr(0, 8)),
                "must begin with {: it is a JSON object");

  RawHeader raw;
  if (!read_header(json, kPrefix, limits, raw, problems)) return std::move(problems).refuse();
  check_names(raw, problems);
  SafetensorsHeader header{.data_start = static_cast<std::int64_t>(kPrefix + header_bytes),
                           .entries = {},
                           .metadata = std::move(raw.metadata),
                           .warnings = std::move(raw.warnings)};
  const auto data_bytes = static_cast<std::int64_t>(file.size()) - header.data_start;
  header.entries.reserve(raw.entries.size());
  for (RawEntry& entry : raw.entries) {
    if (auto checked = check_entry(entry, data_bytes, limits, problems))
      header.entries.push_back(std::move(*checked));
  }
  if (!problems.clean())
    return std::move(problems).refuse();  // what covers what says nothing where entries are wrong
  std::stable_sort(header.entries.begin(), header.entries.end(),
                   [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
                     return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
                   });
  check_cover(header.entries, data_bytes, problems);
  if (!problems.clean()) return std::move(problems).refuse();
  return header;
}

}  // namespace outrider::checkpoint
