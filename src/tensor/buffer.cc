#include "tensor/buffer.h"

#include <sys/mman.h>

#include <cstring>
#include <limits>
#include <new>
#include <utility>

namespace outrider::tensor {
namespace {
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kCacheLine = 64;

std::size_t unit_of(std::size_t bytes) { return bytes >= kHugePage ? kHugePage : kCacheLine; }
// A size that does not fit stays beyond every memory, so that operator new says so.
std::size_t round_up(std::size_t bytes, std::size_t unit) {
  constexpr std::size_t kMost = std::numeric_limits<std::ptrdiff_t>::max();
  return bytes > kMost - unit ? kMost : (bytes + unit - 1) / unit * unit;
}
}  // namespace

// Through operator new, so that sanitizers see the bounds; its big blocks come from mmap and are zero only
// after memset, which also places the pages with the thread that makes the buffer.
Buffer::Buffer(std::size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  const std::size_t unit = unit_of(bytes);
  const std::size_t rounded = round_up(bytes, unit);
  data_ = static_cast<std::byte*>(::operator new(rounded, std::align_val_t(unit)));
  if (unit == kHugePage) ::madvise(data_, rounded, MADV_HUGEPAGE);
  std::memset(data_, 0, rounded);
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Buffer::~Buffer() {
  if (data_ != nullptr) ::operator delete(data_, std::align_val_t(unit_of(size_)));
}

}  // namespace outrider::tensor
