// Judging a run allocates nothing once its scratch has grown, whatever kinds of sequences take turns.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "decode/toy_model.h"

namespace {
std::atomic<int> allocation_count{0};
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

namespace outrider::decode {
namespace {

TEST(VerifySteady, AllocatesNothingOnceItsScratchHasGrown) {
  constexpr int kVocabulary = 400;
  std::vector<float> logits;
  const base::RandomStream stream(1, 1, base::Purpose::Weights);
  for (std::uint32_t i = 0; i < 3 * kVocabulary; ++i) logits.push_back(static_cast<float>(stream.gumbel(i)));
  const std::vector<SamplingParams> cases = {{.temperature = 0},
                                             {.temperature = 1},
                                             {.temperature = 1.2, .top_p = 0.99},
                                             {.temperature = 0.7, .top_k = 20, .top_p = 0.9},
                                             {.temperature = 1, .min_p = 0.1},
                                             {.temperature = 1, .logit_bias = {{5, 2.0}}}};
  const std::vector<AcceptRules> rules = {{.method = AcceptMethod::Standard},
                                          {.method = AcceptMethod::DrafterInvariant}};
  Proposal proposal;
  for (const base::TokenId token : {7, 9}) {
    proposal.tokens.push_back(token);
    proposal.q.push_back(OneHot{.id = token});
  }
  TokenHistory history;
  VerifyScratch scratch;
  const auto run_all = [&] {
    for (const SamplingParams& params : cases) {
      for (const AcceptRules& one : rules) {
        const VerifyInput input{.logits = {logits.data(), 3, kVocabulary},
                                .proposal = proposal,
                                .params = params,
                                .position = 20};
        if (!run_verify(one, input, history, scratch).ok()) return false;
      }
    }
    return true;
  };
  ASSERT_TRUE(run_all());
  const int before = allocation_count;
  ASSERT_TRUE(run_all());
  EXPECT_EQ(allocation_count - before, 0);
}

}  // namespace
}  // namespace outrider::decode
