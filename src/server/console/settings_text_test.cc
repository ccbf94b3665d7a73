#include "server/console/settings_text.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(SettingsText, ChangesItsLinesAndLeavesTheRest) {
  EXPECT_EQ(
      settings_text_with("# mine\nport = 8080\nqueue-length=5\nlog-level = \"info\"\n\n[models.a]\nqueue-length = 1\n",
                         {{"queue-length", "9"}, {"log-level", "debug"}, {"max-images", "2"}}),
      "# mine\nport = 8080\nqueue-length = 9\nlog-level = \"debug\"\n\nmax-images = 2\n[models.a]\nqueue-length = 1\n");
  EXPECT_EQ(settings_text_with("port = 1", {{"max-images", "2"}}), "port = 1\nmax-images = 2\n");
  EXPECT_EQ(settings_text_with("", {{"speculation-report", "none"}}), "speculation-report = \"none\"\n");
  EXPECT_EQ(settings_text_with("[models.a]\npin = true\n", {{"max-images", "2"}}),
            "max-images = 2\n[models.a]\npin = true\n");
  EXPECT_EQ(settings_text_with("a = 1\n", {}), "a = 1\n");
}

}  // namespace
}  // namespace paceline
