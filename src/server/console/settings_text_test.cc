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

// What people wrote beside a value is theirs, and so are their line ends.
TEST(SettingsText, KeepsWhatStandsBehindAValue) {
  const SettingValues changed{{"queue-length", "9"}, {"log-level", "debug"}};
  EXPECT_EQ(
      settings_text_with("queue-length = 5  # as long as it may be\nlog-level=\"in#\\\"fo\"# \"mine\"\n", changed),
      "queue-length = 9  # as long as it may be\nlog-level = \"debug\"# \"mine\"\n");
  EXPECT_EQ(settings_text_with("log-level = 'in#fo' # a\nqueue-length=5# b", changed),
            "log-level = \"debug\" # a\nqueue-length = 9# b\n");
  EXPECT_EQ(settings_text_with("port = 1\r\nqueue-length = 5\r\n[models.a]\r\n", changed),
            "port = 1\r\nqueue-length = 9\r\nlog-level = \"debug\"\r\n[models.a]\r\n");
  EXPECT_EQ(settings_text_with("queue-length = 5 # a\r\nport = 1", changed),
            "queue-length = 9 # a\r\nport = 1\r\nlog-level = \"debug\"\r\n");
  EXPECT_EQ(settings_text_with("", {{"a", "x\"y\\"}}), "a = \"x\\\"y\\\\\"\n");
}

}  // namespace
}  // namespace paceline
