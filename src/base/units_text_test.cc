#include "base/units_text.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(UnitsText, Bytes) {
  EXPECT_EQ(bytes_text(1234567), "1.2 MB");
  EXPECT_EQ(bytes_text(900), "0.9 kB");
}

TEST(UnitsText, Times) {
  EXPECT_EQ(time_text(12.34), "12.3 ms");
  EXPECT_EQ(time_text(1234.5), "1.23 s");
}

}  // namespace
}  // namespace paceline
