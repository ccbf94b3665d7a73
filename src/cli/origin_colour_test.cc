// What a terminal is sent.
#include "cli/origin_colour.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(OriginColour, OnlyGuessesHaveOne) {
  EXPECT_EQ(coloured("x", TokenOrigin::accepted), "\x1b[32mx\x1b[0m");
  EXPECT_EQ(coloured("x", TokenOrigin::corrected), "\x1b[31mx\x1b[0m");
  EXPECT_EQ(coloured("x", TokenOrigin::plain), "x");
  EXPECT_EQ(coloured("x", TokenOrigin::extra), "x");
}

TEST(OriginColour, ATextDoesNotCommandTheTerminal) {
  EXPECT_EQ(without_controls("a\n\tb é 猫 \xC2\xA0"), "a\n\tb é 猫 \xC2\xA0");
  EXPECT_EQ(without_controls("\x1b[2J"), "\xEF\xBF\xBD[2J");
  EXPECT_EQ(without_controls("a\rb\x7F"),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
  EXPECT_EQ(without_controls("\xC2\x9Bx"), "\xEF\xBF\xBDx") << "the one-byte form of ESC [";
}

}  // namespace
}  // namespace paceline
