#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace paceline {
namespace {

// Long enough for every worker to wake up and take a piece meanwhile.
void linger() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

class ThreadPoolTest : public testing::TestWithParam<int> {};

TEST_P(ThreadPoolTest, CountsItsThreads) {
  ThreadPool pool(GetParam());
  EXPECT_EQ(pool.threads(), GetParam());
}

// The counts are plain integers: ThreadSanitizer sees an index that two threads take, and a caller that reads too
// early.
TEST_P(ThreadPoolTest, EveryIndexExactlyOnce) {
  ThreadPool pool(GetParam());
  for (const int64_t count : {0, 1, 2, 3, 7, 16, 63, 64, 65, 1000})
    for (const int64_t piece : {1, 2, 3, 5, 64, 999, 1000, 4000}) {
      std::vector<int> seen(static_cast<size_t>(count), 0);
      pool.run(count, piece, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
      });
      for (int64_t i = 0; i < count; ++i)
        ASSERT_EQ(seen[static_cast<size_t>(i)], 1) << "index " << i << " of " << count << " by " << piece;
    }
}

// The same where threads are busy taking pieces all the time, and where each lingers in its own.
TEST_P(ThreadPoolTest, EveryIndexExactlyOnceInARush) {
  ThreadPool pool(GetParam());
  std::vector<int> seen(100000, 0);
  constexpr int kLoops = 5;
  for (int loop = 0; loop < kLoops; ++loop)
    pool.run(static_cast<int64_t>(seen.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
    });
  for (size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], kLoops) << "index " << i;
}

TEST_P(ThreadPoolTest, WaitsForTheSlowest) {
  ThreadPool pool(GetParam());
  for (int loop = 0; loop < 20; ++loop) {
    std::vector<int> seen(static_cast<size_t>(pool.threads()), 0);
    pool.run(pool.threads(), 1, [&](int64_t begin, int64_t end) {
      linger();
      for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
    });
    for (const int count : seen) ASSERT_EQ(count, 1);
  }
}

// No piece is shorter than was asked for, the last one of each thread's part apart.
TEST_P(ThreadPoolTest, PiecesAreLongEnough) {
  ThreadPool pool(GetParam());
  for (const int64_t count : {11, 20, 103, 1000}) {
    constexpr int64_t kPiece = 10;
    std::atomic<bool> good{true};
    std::atomic<int> shorter{0};
    pool.run(count, kPiece, [&](int64_t begin, int64_t end) {
      if (begin < 0 || end > count || begin >= end) good.store(false);
      if (end - begin < kPiece) shorter.fetch_add(1);
    });
    EXPECT_TRUE(good.load()) << count;
    EXPECT_LE(shorter.load(), pool.threads()) << count;
  }
}

// A worker's number is below threads() and never in use twice at once.
TEST_P(ThreadPoolTest, WorkerNumbersAreUnique) {
  ThreadPool pool(GetParam());
  const auto threads = static_cast<size_t>(pool.threads());
  const auto busy = std::make_unique<std::atomic<int>[]>(threads);
  std::vector<int64_t> done(threads, 0);  // each number's own, without a lock
  std::atomic<bool> good{true};
  constexpr int64_t kCount = 40;
  constexpr int kLoops = 5;
  for (int loop = 0; loop < kLoops; ++loop)
    pool.run(kCount, 2, [&](int64_t begin, int64_t end, int worker) {
      if (worker < 0 || worker >= pool.threads()) {
        good.store(false);
        return;
      }
      const auto me = static_cast<size_t>(worker);
      if (busy[me].fetch_add(1) != 0) good.store(false);
      linger();
      done[me] += end - begin;
      if (busy[me].fetch_sub(1) != 1) good.store(false);
    });
  EXPECT_TRUE(good.load());
  int64_t total = 0;
  for (const int64_t one : done) total += one;
  EXPECT_EQ(total, kCount * kLoops);
}

// What one loop wrote the next one reads, whichever threads they ran on.
TEST_P(ThreadPoolTest, ManyShortLoops) {
  ThreadPool pool(GetParam());
  std::vector<int> values(9, 0);
  constexpr int kLoops = 300;
  for (int loop = 0; loop < kLoops; ++loop) {
    std::vector<int> next(values.size());
    pool.run(static_cast<int64_t>(values.size()), 1 + loop % 3, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
        next[i] = values[(i + 1) % values.size()] + 1;
    });
    values = next;
  }
  for (const int value : values) EXPECT_EQ(value, kLoops);
}

// Long enough apart for workers to fall asleep.
TEST_P(ThreadPoolTest, WakesFromSleep) {
  ThreadPool pool(GetParam());
  for (int loop = 0; loop < 5; ++loop) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::atomic<int64_t> sum{0};
    pool.run(100, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) sum.fetch_add(i);
    });
    ASSERT_EQ(sum.load(), 4950);
  }
}

TEST_P(ThreadPoolTest, StartsAndStops) {
  for (int round = 0; round < 20; ++round) {
    ThreadPool pool(GetParam());
    if (round % 2 == 0) continue;
    std::atomic<int> calls{0};
    pool.run(8, 1, [&](int64_t begin, int64_t end) { calls.fetch_add(static_cast<int>(end - begin)); });
    ASSERT_EQ(calls.load(), 8);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, ThreadPoolTest, testing::Values(1, 2, 3, 4));

TEST(ThreadPoolDefaultTest, HasAtLeastOneThread) {
  ThreadPool pool;
  EXPECT_GE(pool.threads(), 1);
}

}  // namespace
}  // namespace paceline
