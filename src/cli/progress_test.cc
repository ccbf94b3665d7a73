#include "cli/progress.h"

#include <gtest/gtest.h>

#include "cli/sampling_options.h"

namespace paceline {
namespace {

TEST(ProgressLine, KeepsItsWidth) {
  EXPECT_EQ(progress_line("loading", 0, 4, 4), "loading         0 %  0 of 4");
  EXPECT_EQ(progress_line("loading", 2, 4, 4), "loading  ██    50 %  2 of 4");
  EXPECT_EQ(progress_line("loading", 3, 8, 4), "loading  █▌    38 %  3 of 8");
  EXPECT_EQ(progress_line("loading", 4, 4, 4), "loading  ████ 100 %  4 of 4");
  EXPECT_EQ(progress_line("loading", 9, 4, 4), "loading  ████ 100 %  9 of 4");
  EXPECT_EQ(progress_line("loading", 1, 0, 4), "loading         0 %  1 of 0");
}

TEST(LogitBiasOption, IsAnIdAndAValue) {
  const auto bias = parse_logit_bias("12=-3.5");
  ASSERT_TRUE(bias.ok());
  EXPECT_EQ(bias->id, 12);
  EXPECT_EQ(bias->bias, -3.5f);
  for (const char* wrong : {"", "12", "=", "12=", "=1", "x=1", "12=y", "12=1=2"}) {
    EXPECT_FALSE(parse_logit_bias(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace paceline
