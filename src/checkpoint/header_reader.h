// The JSON of a safetensors header, read as a stream of events: no tree is built, since a header may have 100
// MB and a tree is many times its text. Wrong kinds of values are collected; JSON faults and passed limits
// stop. For safetensors.cc alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/problem_list.h"
#include "checkpoint/safetensors.h"

namespace outrider::checkpoint {

// An entry as the file spells it: kinds are right, values are not yet checked against each other.
struct RawEntry {
  std::string name;
  std::optional<std::string> dtype;
  std::optional<std::vector<std::int64_t>> shape;
  std::optional<std::vector<std::int64_t>> offsets;
  bool faulty = false;  // reported already: not to be judged further
};

struct RawHeader {
  std::vector<RawEntry> entries;  // in the order of the text
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<std::string> warnings;
};

// False where the text is no header at all (reported); else `header` is filled as far as its entries are
// faultless.
bool read_header(std::string_view json, std::size_t offset_in_file, const SafetensorsLimits& limits,
                 RawHeader& header, ProblemList& problems);

}  // namespace outrider::checkpoint
