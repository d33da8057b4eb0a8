// The noise of drafter-invariant acceptance: one exponential waiting time per token of the vocabulary, a
// function of (seed, position, token id) and of nothing else. The token with the lowest time / weight wins,
// which is the Gumbel argmax (-log of an exponential time is Gumbel noise) and draws exactly in proportion to
// the weights.
//
// Times are made block by block: first the lowest of a block's 64 times, exponential with rate 64, and which
// token has it; the others wait that long and an exponential time more, since exponential times have no
// memory. So whole blocks without a chance are passed over on a single random number, and a vocabulary of
// 150,000 costs 2,400.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/random.h"

namespace outrider::decode {

class SharedNoise {
 public:
  static constexpr std::int32_t kBlockTokens = 64;

  SharedNoise(std::uint64_t seed, std::uint64_t position) : stream_(seed, position, base::Purpose::Shared) {}

  // At most the lowest time of the block: without a logarithm, since -log(u) >= 1 - u.
  double block_bound(std::int32_t block) const;
  // The waiting time of a token, above 0.
  double time_of(base::TokenId id) const;

 private:
  double block_uniform(std::int32_t block) const;

  base::RandomStream stream_;
};

}  // namespace outrider::decode
