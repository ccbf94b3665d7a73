#include "base/cores.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
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

// A tree of files like those that the system shows.
class CoresOfGroups : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(root_); }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& file, const std::string& text) {
    const std::filesystem::path path = root_ / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  // Of a process in these groups.
  int cores(const std::string& groups) {
    write("groups", groups);
    return cores_of_groups((root_ / "groups").string(), (root_ / "mount").string());
  }

 private:
  std::filesystem::path root_ =
      std::filesystem::path(testing::TempDir()) / ("cores_of_groups_" + std::to_string(getpid()));
};

TEST_F(CoresOfGroups, NoneWithoutQuotas) {
  EXPECT_EQ(cores_of_groups("/does/not/exist", "/nor/does/this"), 0);
  EXPECT_EQ(cores("0::/"), 0);
  write("mount/a/cpu.max", "max 100000");
  write("mount/cpu/a/cpu.cfs_quota_us", "-1");
  write("mount/cpu/a/cpu.cfs_period_us", "100000");
  EXPECT_EQ(cores("0::/a\n1:cpu:/a"), 0);
  EXPECT_EQ(cores("nonsense\n1:\n::\n0::a"), 0);
}

// The group's own and its parents', whichever is smaller.
TEST_F(CoresOfGroups, OfTheSecondVersion) {
  write("mount/a/b/cpu.max", "300000 100000");
  EXPECT_EQ(cores("0::/a/b"), 3);
  EXPECT_EQ(cores("0::/a/b/c"), 3);
  EXPECT_EQ(cores("0::/a"), 0);
  write("mount/a/cpu.max", "200000 100000");
  EXPECT_EQ(cores("0::/a/b"), 2);
  write("mount/cpu.max", "50000 100000");
  EXPECT_EQ(cores("0::/a/b"), 1);
}

// Where both versions are there, the second one lies in a folder of its own.
TEST_F(CoresOfGroups, OfTheSecondVersionBesideTheFirst) {
  write("mount/unified/a/cpu.max", "200000 100000");
  EXPECT_EQ(cores("1:memory:/a\n0::/a"), 2);
}

TEST_F(CoresOfGroups, OfTheFirstVersion) {
  write("mount/cpu/a/cpu.cfs_quota_us", "250000");
  write("mount/cpu/a/cpu.cfs_period_us", "100000");
  EXPECT_EQ(cores("4:memory:/m\n3:cpu,cpuacct:/a/b\n0::/"), 3);
  EXPECT_EQ(cores("3:cpuacct,cpu:/a"), 3);
  EXPECT_EQ(cores("3:cpuset:/a\n2:cpuacct:/a"), 0);
  write("mount/cpu/cpu.cfs_quota_us", "200000");
  write("mount/cpu/cpu.cfs_period_us", "100000");
  EXPECT_EQ(cores("3:cpu:/a"), 2);
  // A container sees the host's path and at the root its own group.
  EXPECT_EQ(cores("3:cpu:/docker/0123456789ab"), 2);
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
