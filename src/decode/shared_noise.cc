#include "decode/shared_noise.h"

#include <cmath>

namespace outrider::decode {
namespace {

// Token ids are below 2^31; the numbers of blocks lie above.
constexpr std::uint32_t kLowest = 0x8000'0000, kWhich = 0xC000'0000;

}  // namespace

double SharedNoise::block_uniform(std::int32_t block) const {
  return stream_.uniform(kLowest | static_cast<std::uint32_t>(block));
}

double SharedNoise::block_bound(std::int32_t block) const {
  // The margin is for the rounding of the logarithm that this stands for.
  return (1 - block_uniform(block)) * (1 - 1e-12) / kBlockTokens;
}

double SharedNoise::time_of(base::TokenId id) const {
  const std::int32_t block = id / kBlockTokens;
  const double lowest = -std::log(block_uniform(block)) / kBlockTokens;
  const auto which =
      static_cast<std::int32_t>(stream_.uniform(kWhich | static_cast<std::uint32_t>(block)) * kBlockTokens);
  if (which == id % kBlockTokens) return lowest;
  return lowest - std::log(stream_.uniform(static_cast<std::uint32_t>(id)));
}

}  // namespace outrider::decode
