#include "state/free_numbers.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace paceline {
namespace {

// Beside an ordered set, over the borders of words and of levels.
TEST(FreeNumbers, LowestAndHighestFirst) {
  std::mt19937 random(7);
  for (const int32_t count : {1, 2, 63, 64, 65, 4095, 4096, 4097, 300'000}) {
    FreeNumbers free(count);
    std::set<int32_t> expected, taken;
    for (int32_t number = 0; number < count; ++number) expected.insert(expected.end(), number);
    for (int32_t i = 0; i < 3 * std::min(count, 5000); ++i) {
      ASSERT_EQ(free.count(), static_cast<int32_t>(expected.size()));
      const auto what = random() % 5;
      if (what < 2 && !taken.empty()) {
        const auto some = taken.lower_bound(static_cast<int32_t>(random() % static_cast<uint32_t>(count)));
        const int32_t number = some == taken.end() ? *taken.begin() : *some;
        free.give_back(number);
        taken.erase(number);
        expected.insert(number);
      } else if (!expected.empty()) {
        const auto next = what == 4 ? std::prev(expected.end()) : expected.begin();
        const int32_t number = *next;
        ASSERT_EQ(what == 4 ? free.take_highest() : free.take_lowest(), number);
        expected.erase(next);
        taken.insert(number);
      }
    }
    // To the last one, and all of them back.
    while (free.count() > 0) taken.insert(free.take_lowest());
    ASSERT_EQ(taken.size(), static_cast<size_t>(count));
    for (const int32_t number : taken) free.give_back(number);
    EXPECT_EQ(free.take_highest(), count - 1);
  }
}

TEST(FreeNumbersDeathTest, WhatIsFreeIsNotGivenBack) {
  FreeNumbers free(10);
  EXPECT_DEATH(free.give_back(3), "CHECK");
  EXPECT_DEATH(free.give_back(-1), "CHECK");
}

}  // namespace
}  // namespace paceline
