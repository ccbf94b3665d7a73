#include "base/one_line.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(OneLine, OfWhateverAFileWasCalled) {
  EXPECT_EQ(one_line("a: no such folder"), "a: no such folder");
  EXPECT_EQ(one_line("\n looked in\n  /a\r\n\t/b\n"), "looked in /a /b");
  EXPECT_EQ(one_line("/a\xff\x1b[31m/\xc3\xa4: none"), "/a\xEF\xBF\xBD [31m/\xc3\xa4: none");
  EXPECT_EQ(one_line(""), "");
}

}  // namespace
}  // namespace paceline
