#include "base/free_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "base/sanitized.h"

namespace paceline {
namespace {

TEST(FreeMemory, WhatAControlGroupLeaves) {
  const std::filesystem::path group = std::filesystem::path(testing::TempDir()) / "free_memory_test";
  std::filesystem::create_directories(group);
  const auto write = [&](const char* name, const char* text) { std::ofstream(group / name) << text; };
  EXPECT_EQ(free_group_bytes(group / "nowhere"), std::nullopt);
  write("memory.max", "max\n");
  write("memory.current", "5000\n");
  EXPECT_EQ(free_group_bytes(group), std::nullopt);
  write("memory.max", "8000\n");
  EXPECT_EQ(free_group_bytes(group), 3000u);
  // Of files that were read nothing is lost.
  write("memory.stat", "anon 3000\nfile 2100\ninactive_file 1500\nactive_file 500\n");
  EXPECT_EQ(free_group_bytes(group), 5000u);
  write("memory.current", "12000\n");
  EXPECT_EQ(free_group_bytes(group), 0u);
  std::filesystem::remove_all(group);
}

// In another process, whose limit it is.
TEST(FreeMemory, WhatTheProcessMayTakeAtMost) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory counts among what is limited";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto asks = [](auto resource) {
    constexpr size_t kLimit = size_t{1} << 30;
    const rlimit limit{kLimit, kLimit};
    if (::setrlimit(resource, &limit) != 0) std::_Exit(1);
    const size_t left = free_address_bytes().value_or(0);
    std::cerr << left;
    std::_Exit(left > 0 && left < kLimit && free_host_bytes() <= left ? 0 : 2);
  };
  EXPECT_EXIT(asks(RLIMIT_AS), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(asks(RLIMIT_DATA), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace paceline
