#include "base/one_line.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace paceline {
namespace {

TEST(OneLine, OfWhateverAFileWasCalled) {
  EXPECT_EQ(one_line("a: no such folder"), "a: no such folder");
  EXPECT_EQ(one_line("\n looked in\n  /a\r\n\t/b\n"), "looked in /a /b");
  EXPECT_EQ(one_line("/a\xff\x1b[31m/\xc3\xa4: none"), "/a\xEF\xBF\xBD [31m/\xc3\xa4: none");
  EXPECT_EQ(one_line(""), "");
}

TEST(OneLine, WhatIsQuotedHasAnEnd) {
  EXPECT_EQ(shortened("short"), "short");
  EXPECT_EQ(shortened(std::string(99, 'a') + "é" + "b"), std::string(99, 'a') + "…");
  EXPECT_EQ(without_middle("abcdefghij", 10), "abcdefghij");
  const std::string cut = without_middle("ééééé:" + std::string(100, 'x') + ":ööööö", 20);
  EXPECT_TRUE(cut.starts_with("éééé")) << cut;
  EXPECT_TRUE(cut.ends_with("öööö")) << cut;
  EXPECT_NE(cut.find(" … "), std::string::npos) << cut;
  EXPECT_TRUE(is_valid_utf8(cut));
  EXPECT_LT(cut.size(), 27u);
}

}  // namespace
}  // namespace paceline
