#include "session/thought_budget.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(ThoughtBudget, ThoughtsEndThere) {
  ThoughtLimit limit{{.thought_begin = 1, .thought_end = 2}, false, 3, 100};
  const auto cursor = limit_thoughts(limit, nullptr)->start();
  const auto may_go_on = [&](const std::vector<TokenId>& text) {
    const auto allowed = cursor->allowed(text);
    EXPECT_EQ(allowed.size(), 2u);
    EXPECT_TRUE(allowed[0] >> 2 & 1);
    return allowed[1] != 0;
  };
  EXPECT_TRUE(may_go_on({}));
  EXPECT_TRUE(may_go_on({9, 9, 9, 9, 9})) << "no thought";
  EXPECT_TRUE(may_go_on({1, 9, 9}));
  EXPECT_FALSE(may_go_on({1, 9, 9, 9}));
  EXPECT_FALSE(may_go_on({9, 1, 9, 9, 9, 9}));
  EXPECT_TRUE(may_go_on({1, 9, 9, 9, 2})) << "it has ended";
  EXPECT_TRUE(may_go_on({1, 9, 9, 9, 2, 9, 9, 9, 9}));
  EXPECT_TRUE(may_go_on({1, 9, 9, 9, 2, 1, 9}));
  limit.begins_in_thought = true;
  const auto open = limit_thoughts(limit, nullptr)->start();
  EXPECT_NE(open->allowed(std::vector<TokenId>{9, 9})[1], 0u);
  EXPECT_EQ(open->allowed(std::vector<TokenId>{9, 9, 9})[1], 0u);
}

}  // namespace
}  // namespace paceline
