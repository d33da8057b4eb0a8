// The header of a safetensors file -> its entries, by every rule of the format and some stricter ones
// (docs/checkpoints.md). Pure: bytes in, a value or a Refusal out, with every fault found. Nothing is
// allocated on the word of an unchecked number: time and memory are bounded by the header's own bytes.
//
// Layout: header bytes N (u64, little-endian), N bytes of JSON, then the data. Offsets count from the data's
// first byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"

namespace outrider::checkpoint {

struct SafetensorsLimits {
  std::uint64_t header_bytes_max = 100'000'000;  // the format's own limit
  std::size_t tensors_max = 1 << 18;
  std::size_t name_bytes_max = 1024;
  std::size_t rank_max = 8;
  std::size_t metadata_max = 1 << 16;  // texts
};

struct SafetensorsEntry {
  std::string name;
  tensor::Dtype dtype;
  std::vector<std::int64_t> shape;
  std::int64_t begin;  // in the data; end - begin is the shape's size exactly
  std::int64_t end;
};

struct SafetensorsHeader {
  std::int64_t data_start;                // in the file
  std::vector<SafetensorsEntry> entries;  // in the order of the data; names are distinct
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<std::string> warnings;  // accepted though odd, one sentence each
};

// `file` is the whole file, of which only the header is read; `source` names it in messages.
base::Result<SafetensorsHeader> parse_safetensors(std::span<const std::byte> file, const std::string& source,
                                                  const SafetensorsLimits& limits = {});

// "[12, 8]"
std::string shape_text(std::span<const std::int64_t> shape);

}  // namespace outrider::checkpoint
