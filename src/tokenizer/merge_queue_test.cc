// Both queues give out what the definition does: the lowest rank, and of equal ones the leftmost.
#include "tokenizer/merge_queue.h"

#include <gtest/gtest.h>

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
  uint32_t taken = kRanks;  // the rank of the one before; nobody offers that
  const auto draw = [&] {
    for (;;) {
      const OfferedMerge drawn{static_cast<uint32_t>(random() % kRanks), static_cast<uint32_t>(random() % 500)};
      if (drawn.rank != taken && waiting.insert({drawn.rank, drawn.pos}).second) return drawn;
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
    taken = found.rank;
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

}  // namespace
}  // namespace paceline
