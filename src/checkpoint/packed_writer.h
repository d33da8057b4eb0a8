// Writes a packed checkpoint (packed.h) as one safetensors file, matrix by matrix: none is held after it was
// written. The file appears under its name when it is whole.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/packed.h"
#include "checkpoint/tensor_spec.h"
#include "tensor/view.h"

namespace outrider::checkpoint {

class PackedWriter {
 public:
  // `expected`: every tensor that may come, packed or plain; room for the header is kept by it.
  static base::Result<PackedWriter> create(const std::string& path, kernels::WeightFormat quantization,
                                           const std::vector<TensorSpec>& expected);
  PackedWriter(PackedWriter&&) = default;
  PackedWriter& operator=(PackedWriter&&) = delete;
  ~PackedWriter();

  // The matrix's first source names it.
  void add_matrix(std::vector<PackedSource> sources, const kernels::PackedMatrix& matrix);
  void add_plain(const std::string& name, const tensor::TensorView& view);
  bool has(const std::string& name) const;

  // Refused where anything could not be written.
  base::Result<base::Done> finish();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  struct Plain {
    std::string name;
    tensor::Dtype dtype;
    std::vector<std::int64_t> shape;
    std::vector<std::byte> bytes;
  };
  PackedWriter() = default;
  void write(const void* data, std::size_t bytes);
  std::string header() const;

  std::string path_;
  // Writes of whole, aligned 2 MiB let the system cache the file in huge pages, which readers then map.
  std::vector<char> buffer_;  // outlives file_
  std::unique_ptr<std::FILE, Close> file_;
  std::size_t header_bytes_ = 0;  // room kept
  PackedContents contents_ = {};
  std::vector<std::int64_t> sizes_;  // of contents_.matrices
  std::vector<Plain> plain_;         // small, written last: they have no alignment
  bool failed_ = false;
};

}  // namespace outrider::checkpoint
