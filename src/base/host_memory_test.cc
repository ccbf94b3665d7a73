#include "base/host_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace paceline {
namespace {

TEST(HostMemory, IsZeroAndAligned) {
  for (const size_t bytes : {size_t{1}, size_t{4096}, size_t{100000}, size_t{5} << 20}) {
    const std::shared_ptr<void> memory = host_memory(bytes);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.get()) % 64, 0u);
    const auto* first = static_cast<const char*>(memory.get());
    EXPECT_TRUE(std::all_of(first, first + bytes, [](char c) { return c == 0; }));
  }
}

// Large ones begin where the system's large pages do. Only what is written is taken.
TEST(HostMemory, WhatIsReservedIsNotTaken) {
  const size_t bytes = size_t{1} << 40;
  const std::shared_ptr<void> memory = reserved_host_memory(bytes);
  if (memory == nullptr) GTEST_SKIP() << "no addresses for a terabyte";
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.get()) % (size_t{2} << 20), 0u);
  auto* first = static_cast<char*>(memory.get());
  for (const size_t at : {size_t{0}, size_t{5000000}, bytes / 2, bytes - 1}) {
    EXPECT_EQ(first[at], 0);
    first[at] = 1;
  }
}

}  // namespace
}  // namespace paceline
