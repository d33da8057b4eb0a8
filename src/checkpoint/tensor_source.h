// Where a model's weights come from, by name: files (checkpoint.h) or numbers made up from a shape (dummy.h).
// Whoever builds a model asks for one tensor at a time, copies or repacks it and lets it go, so that made-up
// tensors never lie in memory all at once. Both kinds may be asked from several threads.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kernels/linear.h"
#include "tensor/buffer.h"
#include "tensor/view.h"

namespace outrider::checkpoint {

// A tensor and what keeps its bytes alive. The bytes lie at any address: files align nothing, so copy with
// memcpy, never cast.
struct HeldTensor {
  tensor::TensorView view;
  tensor::Buffer
      storage;  // empty where the view lies in a mapped file, which then lives as long as the source
};

// A matrix that lies packed in a mapped file, which lives as long as the source.
struct PackedTensor {
  kernels::WeightFormat format;
  std::int64_t outputs, inputs;
  const std::byte* bytes;  // 64-byte aligned, PackedMatrix::packed_bytes() of them
};

class TensorSource {
 public:
  TensorSource() = default;
  TensorSource(const TensorSource&) = default;
  TensorSource& operator=(const TensorSource&) = default;
  virtual ~TensorSource() = default;

  virtual bool has(std::string_view name) const = 0;
  // Refused where there is no tensor of that name.
  virtual base::Result<HeldTensor> tensor(std::string_view name) const = 0;
  // The tensors of these names, stacked along the outputs in this order, where they lie packed so.
  virtual std::optional<PackedTensor> packed(std::span<const std::string>) const { return std::nullopt; }
  // What layers were packed to; nothing where nothing is packed (packed.h).
  virtual std::optional<kernels::WeightFormat> packed_quantization() const { return std::nullopt; }
  // To be asked after the last read and before the first use: refused if a file was cut or written to
  // meanwhile, so that what was read is not what was checked.
  virtual base::Result<base::Done> check_unchanged() const = 0;
};

}  // namespace outrider::checkpoint
