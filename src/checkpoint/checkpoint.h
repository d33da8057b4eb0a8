// A checkpoint on disk as one catalogue: every tensor of every shard by name, mapped, checked, not copied.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/mapped_file.h"
#include "base/result.h"
#include "checkpoint/tensor_source.h"
#include "tensor/view.h"

namespace outrider::checkpoint {

struct TensorEntry {
  std::string name;
  tensor::TensorView view;  // into the mapped file
  std::string file;         // the shard's name
  std::int64_t offset;      // of the first byte, in that file
  // Part of a packed matrix (packed.h): the view has the tensor's own shape and no bytes, and these are its
  // share of the matrix's.
  std::optional<std::int64_t> packed_bytes = {};
  std::int64_t stored_bytes() const { return packed_bytes.value_or(view.byte_count()); }
};

using Warn = std::function<void(const std::string&)>;

// The tensors of a folder: model.safetensors, or model.safetensors.index.json and its shards; or of one
// .safetensors file. Headers are checked by every rule of docs/checkpoints.md, hostile ones refused within
// bounded time and memory. All problems are listed.
class Checkpoint final : public TensorSource {
 public:
  static base::Result<Checkpoint> open(const std::string& path, const Warn& warn);

  const std::map<std::string, TensorEntry, std::less<>>& tensors() const { return tensors_; }
  const TensorEntry* find(std::string_view name) const;
  const std::string& path() const { return path_; }

  bool has(std::string_view name) const override { return find(name) != nullptr; }
  base::Result<HeldTensor> tensor(std::string_view name) const override;
  std::optional<PackedTensor> packed(std::span<const std::string> names) const override;
  std::optional<kernels::WeightFormat> packed_quantization() const override { return packed_quantization_; }
  base::Result<base::Done> check_unchanged() const override;

 private:
  friend class CheckpointOpener;
  Checkpoint() = default;

  std::string path_;
  std::vector<base::MappedFile> files_;
  std::map<std::string, TensorEntry, std::less<>> tensors_;
  struct Packed {
    std::vector<std::string> names;
    PackedTensor tensor;
  };
  std::map<std::string, Packed, std::less<>> packed_;  // by the first name
  std::optional<kernels::WeightFormat> packed_quantization_;
};

// The config.json of a folder (or the file itself), with `overrides` (JSON merge patch, RFC 7386) applied.
base::Result<base::Json> load_config(const std::string& path, const base::Json* overrides);

}  // namespace outrider::checkpoint
