// A steady step of the whole engine allocates nothing: calls of operator new are counted while sequences
// decode, with and without a drafter.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "support/golden.h"
#include "support/loaded.h"

namespace {
std::atomic<std::int64_t> allocation_count{0};
}

void* operator new(std::size_t bytes) {
  ++allocation_count;
  void* memory = std::malloc(bytes);
  if (memory == nullptr) std::abort();
  return memory;
}
// std::stable_sort asks in this form; all must come from the same place that delete gives back to.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocation_count;
  return std::malloc(bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace outrider::testing {
namespace {

// Allocations of each of the last steps of a run.
std::vector<std::int64_t> allocations(bool drafts, double temperature) {
  plan::Intent settings = float32_settings();
  settings.target.dtype = "bfloat16";
  settings.target.max_model_len = 512;
  settings.target.max_num_seqs = 2;
  if (drafts) settings.draft = drafting();
  Loaded loaded = load(model_path("sprout"), model_path("sprout-dspark"), settings);
  for (int i = 0; i < 2; ++i) {
    engine::Request request = greedy_request({1, 327, 202, 846 + i}, 400);
    request.sampling.temperature = temperature;
    EXPECT_TRUE(loaded.engine->submit(request, nullptr).ok());
  }
  for (int step = 0; step < 20; ++step) loaded.engine->step();
  std::vector<std::int64_t> counts;
  for (int step = 0; step < 20; ++step) {
    const std::int64_t before = allocation_count;
    loaded.engine->step();
    counts.push_back(allocation_count - before);
  }
  return counts;
}

TEST(Steady, AGreedyStepAllocatesNothing) {
  EXPECT_EQ(allocations(false, 0), std::vector<std::int64_t>(20, 0));
}
TEST(Steady, ADraftingStepAllocatesNothing) {
  EXPECT_EQ(allocations(true, 0), std::vector<std::int64_t>(20, 0));
}
TEST(Steady, ASampledStepAllocatesNothing) {
  EXPECT_EQ(allocations(false, 1), std::vector<std::int64_t>(20, 0));
}

}  // namespace
}  // namespace outrider::testing
