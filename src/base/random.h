// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy
// as 1, 2, 3", SC 2011). A number is a function of (seed, position, purpose, index) and of nothing else, so
// that it does not depend on batch, rank, drafter or thread. Streams of different purposes are independent
// (the accept coin, the draft's noise and the residual's noise must not share one).
#pragma once

#include <array>
#include <cstdint>

namespace outrider::base {

enum class Purpose : std::uint32_t {
  Target = 1,    // plain sampling of the target, also the bonus token
  Draft = 2,     // the drafter's own choice
  Accept = 3,    // the accept coin of the ratio test
  Residual = 4,  // the correction after a rejection
  Shared = 5,    // the one Gumbel noise of drafter-invariant verification
  Weights = 6,   // dummy weights
};

// Four 32-bit words of the stream at `counter`.
std::array<std::uint32_t, 4> philox(std::uint64_t key, std::array<std::uint32_t, 4> counter);

class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::uint64_t position, Purpose purpose)
      : seed_(seed), position_(position), purpose_(purpose) {}

  // Uniform in the open interval (0, 1), 53 bits; `index` picks one of independent numbers, e.g. a token id.
  double uniform(std::uint32_t index = 0) const;
  // Standard Gumbel noise, -log(-log(u)): argmax of log p + gumbel draws from p.
  double gumbel(std::uint32_t index) const;

 private:
  std::uint64_t seed_, position_;
  Purpose purpose_;
};

}  // namespace outrider::base
