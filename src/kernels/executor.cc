#include "kernels/executor.h"

#include "base/check.h"
#include "kernels/kernel_table.h"

namespace outrider::kernels {
namespace {

const KernelTable& table_of(Target target) {
  switch (target) {
    case Target::Reference:
      return reference_table();
#if defined(__x86_64__)
    case Target::Avx2:
      return avx2_table();
    case Target::Avx512:
      return avx512_table();
#else
    case Target::Avx2:
    case Target::Avx512:
      break;  // never available here (target.cc)
#endif
  }
  return reference_table();
}

}  // namespace

Executor::Executor(Target target, int thread_count, Arithmetic arithmetic)
    : target_(target), arithmetic_(arithmetic), pool_(thread_count), table_(table_of(target)) {}

Executor::~Executor() = default;

std::byte* Executor::scratch(int slot, std::size_t bytes) {
  OUTRIDER_CHECK(slot >= 0 && slot < kSlotCount);
  tensor::Buffer& buffer = scratch_[slot];
  // Half as much again: sizes that creep up with the context do not reallocate every step.
  if (buffer.size() < bytes) buffer = tensor::Buffer(bytes + bytes / 2);
  return buffer.data();
}

}  // namespace outrider::kernels
