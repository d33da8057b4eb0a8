#include "kernels/slabs.h"

#include <algorithm>

#include "tensor/buffer.h"

namespace outrider::kernels {
namespace {

constexpr std::size_t kSlabBytesMin = std::size_t{2} << 20, kSlabBytesMax = std::size_t{32} << 20;

}  // namespace

std::shared_ptr<std::byte> make_piece(std::size_t bytes) {
  const auto buffer = std::make_shared<tensor::Buffer>(bytes);
  return {buffer, buffer->data()};
}

std::shared_ptr<std::byte> Slabs::take(std::size_t bytes) {
  if (bytes > kSlabBytesMax / 4) return make_piece(bytes);
  if (slab_bytes_ - used_ < bytes) {
    // Doubling: a small model does not pay for a large slab.
    slab_bytes_ = std::max(std::clamp(2 * slab_bytes_, kSlabBytesMin, kSlabBytesMax), (bytes + 63) / 64 * 64);
    slab_ = make_piece(slab_bytes_);
    used_ = 0;
  }
  std::shared_ptr<std::byte> piece(slab_, slab_.get() + used_);
  used_ = std::min(used_ + (bytes + 63) / 64 * 64, slab_bytes_);
  return piece;
}

}  // namespace outrider::kernels
