#include "tensor/buffer.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

namespace outrider::tensor {
namespace {
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kCacheLine = 64;

std::size_t unit_of(std::size_t bytes) { return bytes >= kHugePage ? kHugePage : kCacheLine; }
// More than any machine here has (1 TiB) is refused as operator new refuses it; asked, a sanitizer's would
// abort instead.
constexpr std::size_t kMost = std::size_t{1} << 40;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  if (bytes > kMost - unit) (void)std::allocator<std::byte>().allocate(SIZE_MAX);  // reports bad_alloc
  return (bytes + unit - 1) / unit * unit;
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
