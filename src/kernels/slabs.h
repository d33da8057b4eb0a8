// Room for packed weights in few large pieces. A matrix below 2 MiB would lie on 4 KiB pages, where one
// thread reads int4 experts at 17 instead of 30 GB/s (measured, one of 128 experts after the other); cut from
// a slab it shares huge pages with its neighbours.
#pragma once

#include <cstddef>
#include <memory>

namespace outrider::kernels {

class Slabs {
 public:
  // 64-byte aligned, zero, alive as long as any piece of its slab. Pieces follow each other in memory in the
  // order they were taken.
  std::shared_ptr<std::byte> take(std::size_t bytes);

 private:
  std::shared_ptr<std::byte> slab_;
  std::size_t slab_bytes_ = 0, used_ = 0;
};

// One piece of its own.
std::shared_ptr<std::byte> make_piece(std::size_t bytes);

}  // namespace outrider::kernels
