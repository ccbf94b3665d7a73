#include "state/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <set>

#include "state/kv_blocks.h"

namespace paceline {
namespace {

TEST(ArenaTest, UnitsAreDealtOutByNumberAndZeroed) {
  Arena arena(nullptr, 4096, 10 * 4096 + 100);
  ASSERT_EQ(arena.units(), 10);
  std::vector<int32_t> some(7), others(3), more(1);
  ASSERT_TRUE(arena.take(some));
  ASSERT_TRUE(arena.take(others));
  EXPECT_EQ(arena.free_units(), 0);
  EXPECT_FALSE(arena.take(more));
  std::set<int32_t> all(some.begin(), some.end());
  all.insert(others.begin(), others.end());
  EXPECT_EQ(all.size(), 10u);
  EXPECT_EQ(*all.rbegin(), 9);
  for (const int32_t number : all) *arena.at(number) = std::byte{1};
  arena.give_back(some);
  EXPECT_EQ(arena.free_units(), 7);
  std::vector<int32_t> eight(8), five(5);
  EXPECT_FALSE(arena.take(eight));
  EXPECT_EQ(arena.free_units(), 7);
  ASSERT_TRUE(arena.take(five));
  for (const int32_t number : five) EXPECT_EQ(*arena.at(number), std::byte{0});
  for (const int32_t number : others) EXPECT_EQ(*arena.at(number), std::byte{1});
  arena.give_back(others);
  arena.give_back(five);
}

// From either end those nearest to it, zeroed whether they were used before or not.
TEST(ArenaTest, WhoTakesFromOneEndHasNeighbours) {
  Arena arena(nullptr, 4096, 20 * 4096);
  using Numbers = std::vector<int32_t>;
  const auto take = [&](size_t count, Arena::End end) {
    Numbers numbers(count);
    EXPECT_TRUE(arena.take(numbers, end));
    for (const int32_t number : numbers) EXPECT_EQ(*arena.at(number), std::byte{0}) << number;
    for (const int32_t number : numbers) *arena.at(number) = std::byte{1};
    return numbers;
  };
  const Numbers low = take(2, Arena::End::low), high = take(3, Arena::End::high), more = take(2, Arena::End::low);
  EXPECT_EQ(low, (Numbers{0, 1}));
  EXPECT_EQ(high, (Numbers{19, 18, 17}));
  EXPECT_EQ(more, (Numbers{2, 3}));
  arena.give_back(low);
  arena.give_back(Numbers{18});
  EXPECT_EQ(take(3, Arena::End::low), (Numbers{0, 1, 4}));
  EXPECT_EQ(take(2, Arena::End::high), (Numbers{18, 16}));
  // Whatever is left fits whoever asks.
  EXPECT_EQ(take(11, Arena::End::high).back(), 5);
  EXPECT_EQ(arena.free_units(), 0);
  for (int32_t number = 0; number < 20; ++number) arena.give_back(Numbers{number * 7 % 20});
  EXPECT_EQ(take(20, Arena::End::low).front(), 0);
  Numbers all(20);
  for (int32_t number = 0; number < 20; ++number) all[static_cast<size_t>(number)] = number;
  arena.give_back(all);
}

TEST(ArenaTest, WhatIsKeptIsGivenUpAsFarAsIsNeeded) {
  Arena arena(nullptr, 64, 640);
  std::deque<std::vector<int32_t>> kept;
  arena.set_reclaim([&] {
    if (kept.empty()) return false;
    arena.give_back(kept.front());
    kept.pop_front();
    return true;
  });
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(arena.take(kept.emplace_back(2)));
  HeldUnits held;
  EXPECT_TRUE(held.grow(arena, 3));
  EXPECT_EQ(kept.size(), 3u);
  EXPECT_TRUE(held.grow(arena, 2));
  EXPECT_EQ(held.count(), 3);
  EXPECT_FALSE(held.grow(arena, 11));
  EXPECT_EQ(held.count(), 3);
  EXPECT_TRUE(kept.empty());
  HeldUnits moved = std::move(held);
  EXPECT_EQ(arena.free_units(), 7);
  moved.give_back();
  EXPECT_EQ(arena.free_units(), 10);
}

// Kinds of different sizes come and go in any mix: whoever asks gets units as long as there are so many.
TEST(ArenaTest, NoMixOfKindsFragments) {
  KvBlockPool::Shape shape{4096, {}, nullptr};
  shape.units[StateKind::paged] = 2;
  shape.units[StateKind::window] = 5;
  KvBlockPool pool(shape, 1000 * 4096);
  std::mt19937 random(1);
  std::vector<KvBlockRef> held;
  int64_t refused = 0;
  for (int i = 0; i < 100000; ++i) {
    if (random() % 5 < 2 && !held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      held.pop_back();
      continue;
    }
    const StateKind kind = kStateKinds[random() % 2];
    const int32_t before = pool.arena().free_units();
    KvBlockRef block = pool.take(kind);
    ASSERT_EQ(static_cast<bool>(block), before >= shape.units[kind]);
    ASSERT_EQ(pool.arena().free_units(), before - (block ? shape.units[kind] : 0));
    refused += block ? 0 : 1;
    if (block) held.push_back(std::move(block));
  }
  EXPECT_GT(refused, 1000);
}

TEST(ArenaTest, BlocksThatAreOnlyKeptAreCounted) {
  KvBlockPool::Shape shape{256, {}, nullptr};
  shape.units[StateKind::paged] = 3;
  KvBlockPool pool(shape, 100 * 256);
  KvBlockRef one = pool.take(StateKind::paged);
  KeptBlock kept;
  kept.keep(one);
  EXPECT_EQ(pool.kept_units(), 0);
  one.give_back();
  EXPECT_EQ(pool.kept_units(), 3);
  EXPECT_EQ(pool.available_units(), 100);
  {
    const KvBlockRef reader = kept.block();
    EXPECT_EQ(pool.kept_units(), 0);
    EXPECT_EQ(pool.available_units(), 97);
  }
  EXPECT_EQ(pool.kept_units(), 3);
  kept.give_up();
  EXPECT_EQ(pool.kept_units(), 0);
  EXPECT_EQ(pool.used_bytes(), 0u);
}

// More than any machine has is said, and nothing ends.
TEST(ArenaTest, MemoryThatIsNotThere) {
  Arena arena(nullptr, size_t{1} << 40, size_t{1} << 62);
  EXPECT_TRUE(arena.is_missing());
  EXPECT_EQ(arena.units(), 0);
  std::vector<int32_t> one(1);
  EXPECT_FALSE(arena.take(one));
}

}  // namespace
}  // namespace paceline
