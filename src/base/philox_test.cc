#include "base/philox.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

// The known answers published with Random123 (kat_vectors, philox4x32 10).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, EveryPartOfTheAddressCounts) {
  const auto base = random_block(1, 2, 3, 4);
  EXPECT_EQ(base, random_block(1, 2, 3, 4));
  EXPECT_NE(base, random_block(9, 2, 3, 4));
  EXPECT_NE(base, random_block(1 + (1ull << 32), 2, 3, 4));
  EXPECT_NE(base, random_block(1, 9, 3, 4));
  EXPECT_NE(base, random_block(1, 2 + (1ull << 32), 3, 4));
  EXPECT_NE(base, random_block(1, 2, 9, 4));
  EXPECT_NE(base, random_block(1, 2, 3, 9));
}

}  // namespace
}  // namespace paceline
