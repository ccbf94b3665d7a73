#include "sample/history.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace paceline {
namespace {

TEST(TokenCounts, AdvancingAndTakingBackEqualsCountingAnew) {
  std::mt19937 random(1);
  const std::vector<TokenId> prompt{3, 1, 4, 1, 5};
  std::vector<TokenId> generated;
  TokenCounts counts(prompt, {});
  for (int round = 0; round < 2000; ++round) {
    if (generated.empty() || random() % 5 < 3) {
      generated.push_back(static_cast<TokenId>(random() % 9));
      counts.advance(generated.back());
    } else {
      counts.take_back(generated.back());
      generated.pop_back();
    }
    ASSERT_EQ(counts, TokenCounts(prompt, generated));
  }
}

}  // namespace
}  // namespace paceline
