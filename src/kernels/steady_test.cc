// A steady step allocates nothing: calls of operator new are counted while every operation runs again, and
// scratch stays where it is.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "kernels/attention.h"
#include "kernels/elementwise.h"
#include "kernels/moe.h"
#include "kernels/test_support.h"

namespace {
std::atomic<int> allocation_count{0};
}

void* operator new(std::size_t bytes) {
  ++allocation_count;
  void* memory = std::malloc(bytes);
  if (memory == nullptr) std::abort();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace outrider::kernels::test {
namespace {

struct Operands {
  explicit Operands(Executor& executor)
      : matrix(packed(executor, Values(1).many(100 * 64), 64, WeightFormat::Int4)),
        x(Values(2).many(8 * 64)),
        y(8 * 100),
        z(8 * 64),
        index(8),
        value(8) {
    for (int e = 0; e < 4; ++e) {
      experts.push_back({packed(executor, Values(3).many(64 * 64), 64, WeightFormat::Int8),
                         packed(executor, Values(4).many(64 * 32), 32, WeightFormat::Int8)});
    }
    for (int i = 0; i < 8; ++i) rows.push_back({&block, 0, i + 1});
  }

  void run(Executor& executor) {
    linear(executor, view(std::as_const(x), 64), matrix, {}, view(y, 100));
    linear_argmax(executor, view(std::as_const(x), 64), matrix, index, value);
    route_softmax_topk(executor, view(std::as_const(x), 64).column_range(0, 4), 2, true, {ids, 8, 2},
                       {weights, 8, 2});
    moe_mlp(executor, view(std::as_const(x), 64), experts, {ids, 8, 2}, {weights, 8, 2}, view(z, 64));
    rms_norm(executor, view(std::as_const(x), 64), norm, 1e-6F, view(z, 64));
    attend(executor, view(std::as_const(x), 64), 4, rows, layer, 0.25F, view(z, 64));
  }

  PackedMatrix matrix;
  std::vector<float> x, y, z;
  std::vector<std::int32_t> index;
  std::vector<float> value;
  std::vector<ExpertWeights> experts;
  std::int32_t ids[16] = {};
  float weights[16] = {};
  std::vector<float> norm = std::vector<float>(64, 1.0F);
  base::BlockId block{0};
  std::vector<AttentionRow> rows;
  std::vector<float> cache = std::vector<float>(2 * 16 * 2 * 16, 0.5F);
  KvLayer layer{cache.data(), cache.data() + 16 * 2 * 16, KvDtype::F32, 16, 2, 16};
};

TEST(SteadyStep, AllocatesNothing) {
  for (const Target target : available_targets()) {
    Executor executor(target, 2, Arithmetic::Bfloat16);
    Operands operands(executor);
    operands.run(executor);  // scratch grows to its size
    const std::byte* const scratch[] = {executor.scratch(0, 1), executor.scratch(3, 1)};
    const int before = allocation_count;
    for (int i = 0; i < 3; ++i) operands.run(executor);
    EXPECT_EQ(allocation_count - before, 0) << name_of(target);
    EXPECT_EQ(executor.scratch(0, 1), scratch[0]);
    EXPECT_EQ(executor.scratch(3, 1), scratch[1]);
  }
}

TEST(SteadyStep, TheCounterCounts) {
  const int before = allocation_count;
  std::vector<int>* made = new std::vector<int>(100);
  EXPECT_GE(allocation_count - before, 1);
  delete made;
}

}  // namespace
}  // namespace outrider::kernels::test
