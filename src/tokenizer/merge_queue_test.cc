// Both queues give out what the definition does: the lowest rank, and of equal ones the leftmost.
#include "tokenizer/merge_queue.h"

#include <gtest/gtest.h>

#include <ctime>
#include <random>
#include <set>
#include <utility>

namespace paceline {
namespace {

constexpr uint32_t kRanks = 40;

template <class Queue>
void expect_order(Queue& queue, uint32_t seed) {
  std::mt19937 random(seed);
  std::set<std::pair<uint32_t, uint32_t>> waiting;
  const auto draw = [&] {
    for (;;) {
      const OfferedMerge drawn{static_cast<uint32_t>(random() % kRanks), static_cast<uint32_t>(random() % 500)};
      if (waiting.insert({drawn.rank, drawn.pos}).second) return drawn;
    }
  };
  for (int i = 0; i < 200; ++i) queue.put(draw());
  queue.finish();
  for (int offers = 0;;) {
    OfferedMerge found{};
    ASSERT_EQ(queue.take(found), !waiting.empty());
    if (waiting.empty()) return;
    ASSERT_EQ(std::pair(found.rank, found.pos), *waiting.begin());
    waiting.erase(waiting.begin());
    for (size_t more = random() % 3; more > 0 && offers < 1000; --more, ++offers) queue.offer(draw());
  }
}

TEST(MergeQueue, GivesOutTheLowestAndLeftmost) {
  MergeHeap heap;
  MergeBuckets buckets;
  buckets.reserve(kRanks);
  for (uint32_t seed = 0; seed < 50; ++seed) {  // each is empty again when the next begins
    SCOPED_TRACE(seed);
    expect_order(heap, seed);
    expect_order(buckets, seed);
  }
}

// A lower rank that turns up each time must not move all that waits: that would be 10^12 steps.
TEST(MergeQueue, ALowerRankEachTimeIsNotWorkOfItsSquare) {
  constexpr uint32_t kPlaces = 1000000;
  MergeBuckets buckets;
  buckets.reserve(3);
  for (uint32_t pos = 0; pos < kPlaces; ++pos) buckets.put({2, pos});
  const std::clock_t begin = std::clock();
  OfferedMerge found{};
  for (uint32_t pos = 0; pos < kPlaces; ++pos) {
    ASSERT_TRUE(buckets.take(found));
    ASSERT_EQ(std::pair(found.rank, found.pos), std::pair(2u, pos));
    buckets.offer({2, kPlaces + pos});
    buckets.offer({1, pos});
    ASSERT_TRUE(buckets.take(found));
    ASSERT_EQ(std::pair(found.rank, found.pos), std::pair(1u, pos));
  }
  for (uint32_t pos = 0; pos < kPlaces; ++pos) {
    ASSERT_TRUE(buckets.take(found));
    ASSERT_EQ(found.pos, kPlaces + pos);
  }
  EXPECT_FALSE(buckets.take(found));
  EXPECT_LT(std::clock() - begin, 60 * CLOCKS_PER_SEC);
}

}  // namespace
}  // namespace paceline
