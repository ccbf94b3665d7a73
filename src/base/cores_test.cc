#include "base/cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "base/thread_pool.h"

namespace paceline {
namespace {

TEST(Cores, OfAQuota) {
  EXPECT_EQ(cores_of_quota("max 100000"), 0);
  EXPECT_EQ(cores_of_quota("200000 100000"), 2);
  EXPECT_EQ(cores_of_quota("150000 100000"), 2);
  EXPECT_EQ(cores_of_quota("10000 100000"), 1);
  EXPECT_EQ(cores_of_quota(""), 0);
  EXPECT_EQ(cores_of_quota("100000"), 0);
  EXPECT_EQ(cores_of_quota("100000 0"), 0);
  EXPECT_EQ(cores_of_quota("-1 100000"), 0);
}

// A mask of one core is one core.
TEST(Cores, OfTheAffinityMask) {
  EXPECT_GE(usable_cores(), 1);
  std::thread([] {
    cpu_set_t allowed, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core)
      if (CPU_ISSET(core, &allowed)) CPU_SET(core, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(usable_cores(), 1);
  }).join();
}

// Two threads on one core: both wait for it half of the time.
TEST(Cores, WhoIsReadyAndHasNoneWaits) {
  if (!std::ifstream("/proc/thread-self/schedstat")) GTEST_SKIP() << "the system does not say";
  std::atomic<bool> stops = false;
  const auto on_one_core = [] { pin_this_thread(0); };
  std::thread other([&] {
    on_one_core();
    while (!stops) {
    }
  });
  std::thread([&] {
    on_one_core();
    const auto before = waited_for_core();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (waited_for_core() - before < std::chrono::milliseconds(20) && std::chrono::steady_clock::now() < end) {
    }
    EXPECT_GE(waited_for_core() - before, std::chrono::milliseconds(20));
  }).join();
  stops = true;
  other.join();
}

}  // namespace
}  // namespace paceline
