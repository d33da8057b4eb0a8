// Packed checkpoints: safetensors files whose matrices lie as the kernels read them, so that they are mapped
// and never copied (`outrider quantize` writes them). The metadata says what is packed:
//
//   format = outrider-packed, packing_version = 1, quantization = int8 | int4, group_size = 32,
//   panel_outputs = 32, matrices = JSON: [{"tensor": NAME, "format": "int8", "inputs": K,
//   "sources": [[NAME, ROWS], ..]}, ..]
//
// A matrix is one U8 tensor, its sources stacked along the outputs, 64-byte aligned in the file, laid out by
// kernels/layout.h. All other tensors (norms, router, biases) are plain. Another version is refused: the
// bytes would mean something else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "kernels/linear.h"

namespace outrider::checkpoint {

inline constexpr char kPackedFormat[] = "outrider-packed";
inline constexpr int kPackingVersion = 1;
inline constexpr std::int64_t kPackedAlignment = 64;

struct PackedSource {
  std::string name;
  std::int64_t rows;
};
struct PackedMatrixEntry {
  std::string tensor;  // the U8 tensor that holds it
  kernels::WeightFormat format;
  std::int64_t inputs;
  std::vector<PackedSource> sources;  // in the order of the outputs

  std::int64_t outputs() const {
    std::int64_t sum = 0;
    for (const PackedSource& source : sources) sum += source.rows;
    return sum;
  }
};
struct PackedContents {
  kernels::WeightFormat quantization;  // of layers; embedding and head are Int8 in either
  std::vector<PackedMatrixEntry> matrices;
};

using Metadata = std::vector<std::pair<std::string, std::string>>;

// What the metadata says; nothing where the file is no packed one. Every number is checked against the others
// of its entry, none against the file: that is for whoever knows the tensors.
base::Result<std::optional<PackedContents>> parse_packed(const Metadata& metadata, const std::string& source);
Metadata packed_metadata(const PackedContents& contents);

// "int8", "int4"; others have no place in a packed file.
std::string packed_name(kernels::WeightFormat format);

}  // namespace outrider::checkpoint
