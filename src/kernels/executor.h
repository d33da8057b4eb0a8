// What a kernel call needs beside its operands: the target's functions, the threads, scratch memory and the
// arithmetic. One per engine; used by one caller at a time.
//
// ROW INVARIANCE is a clause of every operation in this folder (docs/architecture.md): the result of a row is
// the same bytes for any number of rows beside it, any place among them, any thread count and, in MoE, any
// experts chosen by other rows. The order of every sum is fixed by shape, format and target.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/pool.h"
#include "kernels/slabs.h"
#include "kernels/target.h"
#include "tensor/buffer.h"

namespace outrider::kernels {

struct KernelTable;  // kernel_table.h: one function per operation and target

// How activations enter a product. Float32: strict fp32 on widened weights. Bfloat16: inputs of linear layers
// are rounded to bf16, sums are fp32. Quantised weights (Int8, Int4) take int8 activations in either.
enum class Arithmetic { Float32, Bfloat16 };

class Executor {
 public:
  Executor(Target target, int thread_count, Arithmetic arithmetic);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  Target target() const { return target_; }
  Arithmetic arithmetic() const { return arithmetic_; }
  ThreadPool& pool() { return pool_; }
  const KernelTable& table() const { return table_; }

  // Scratch that grows to what was ever asked and is then reused: no allocation in a steady step. A slot's
  // contents last until it is asked for again. Slots 0..7 belong to this folder.
  std::byte* scratch(int slot, std::size_t bytes);

  // Where pack_matrix() puts what it packs.
  Slabs& slabs() { return slabs_; }

 private:
  Target target_;
  Arithmetic arithmetic_;
  ThreadPool pool_;
  const KernelTable& table_;
  static constexpr int kSlotCount = 16;
  tensor::Buffer scratch_[kSlotCount];
  Slabs slabs_;
};

}  // namespace outrider::kernels
