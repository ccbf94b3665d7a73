#include "base/thread_pool.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "base/sanitized.h"

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

// Whoever throws, the caller gets one of those that were thrown, when nobody is in the loop any more: the counts are
// gone by then. And the next loop is whole.
TEST_P(ThreadPoolTest, WhatAPieceThrowsComesToTheCaller) {
  ThreadPool pool(GetParam());
  for (int loop = 0; loop < 300; ++loop) {
    const int thrower = loop % (pool.threads() + 1);  // the last: all of them
    auto busy = std::make_unique<std::atomic<int>>(0);
    int caught = -1;
    try {
      pool.run(64, 1, [&](int64_t, int64_t, int worker) {
        busy->fetch_add(1);
        if (loop % 10 == 0) linger();
        busy->fetch_sub(1);
        if (worker == thrower || thrower == pool.threads()) throw worker;
      });
    } catch (int worker) {
      caught = worker;
    }
    ASSERT_EQ(busy->load(), 0);
    busy.reset();
    // Only who was there in time can have thrown.
    if (thrower == pool.threads()) {
      ASSERT_GE(caught, 0);
    } else if (caught >= 0) {
      ASSERT_EQ(caught, thrower);
    }
    std::vector<int> seen(100, 0);
    pool.run(100, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
    });
    for (const int count : seen) ASSERT_EQ(count, 1) << "loop " << loop;
  }
}

// One thread throws for certain while each of the others is within a piece, and they end theirs. A pool of its own for
// each: its first loop is for all of its threads.
TEST_P(ThreadPoolTest, WaitsForOthersWhereOneThrows) {
  for (int thrower = 0; thrower < GetParam(); ++thrower) {
    ThreadPool pool(GetParam());
    std::atomic<int> inside{0}, ended{0};
    std::atomic<bool> threw{false};
    const auto body = [&](int64_t, int64_t, int worker) {
      inside.fetch_add(1);
      while (inside.load() < pool.threads()) std::this_thread::yield();
      if (worker == thrower) {
        threw.store(true);
        throw std::bad_alloc();
      }
      while (!threw.load()) std::this_thread::yield();
      linger();
      ended.fetch_add(1);
    };
    EXPECT_THROW(pool.run(pool.threads(), 1, body), std::bad_alloc);
    EXPECT_EQ(ended.load(), pool.threads() - 1) << "thrower " << thrower;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, ThreadPoolTest, testing::Values(1, 2, 3, 4));

TEST(ThreadPoolDefaultTest, HasAtLeastOneThread) {
  ThreadPool pool;
  EXPECT_GE(pool.threads(), 1);
}

// Of a thousand threads the memory has room for the stacks of some. It is another process that has so little.
TEST(ThreadPoolStartTest, SaysWhereTheSystemStartsNoMoreThreads) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory counts among what is limited";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto start = [] {
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const auto limit = static_cast<rlim_t>(pages * ::getpagesize()) + (rlim_t{1} << 30);
    const rlimit memory{limit, limit}, stack{rlim_t{8} << 20, rlim_t{8} << 20};
    if (::setrlimit(RLIMIT_STACK, &stack) != 0 || ::setrlimit(RLIMIT_AS, &memory) != 0) std::_Exit(2);
    try {
      const ThreadPool pool(1000);
    } catch (const std::system_error& error) {
      std::cerr << error.what();
      const ThreadPool few(3);  // those that had begun have given their room back
      std::_Exit(0);
    }
    std::_Exit(1);
  };
  EXPECT_EXIT(start(), testing::ExitedWithCode(0), "expected to start 999 threads .* the system started [1-9]");
}

}  // namespace
}  // namespace paceline
