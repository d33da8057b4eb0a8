#include "base/random.h"

#include <gtest/gtest.h>

namespace outrider::base {
namespace {

// Known answers published with Random123 (kat_vectors, philox4x32 with 10 rounds).
TEST(Philox, GivesThePublishedKnownAnswers) {
  using Words = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox(0, {0, 0, 0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(~std::uint64_t{0}, {~0u, ~0u, ~0u, ~0u}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, DiffersByPurposePositionSeedAndIndex) {
  const double base = RandomStream(1, 2, Purpose::Draft).uniform(3);
  EXPECT_EQ(base, RandomStream(1, 2, Purpose::Draft).uniform(3));
  EXPECT_NE(base, RandomStream(1, 2, Purpose::Accept).uniform(3));
  EXPECT_NE(base, RandomStream(1, 3, Purpose::Draft).uniform(3));
  EXPECT_NE(base, RandomStream(2, 2, Purpose::Draft).uniform(3));
  EXPECT_NE(base, RandomStream(1, 2, Purpose::Draft).uniform(4));
}

}  // namespace
}  // namespace outrider::base
