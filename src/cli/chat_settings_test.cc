// Settings that are changed in a chat.
#include "cli/chat_settings.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(ChatSettings, AreSetTakenBackAndShown) {
  ChatSettings settings;
  EXPECT_EQ(*change_setting(ChatVerb::seed, "18446744073709551615", settings), "seed 18446744073709551615");
  EXPECT_EQ(settings.seed, 18446744073709551615u);
  EXPECT_EQ(*change_setting(ChatVerb::seed, "", settings), "seed 18446744073709551615");
  ASSERT_TRUE(change_setting(ChatVerb::seed, "random", settings).ok());
  EXPECT_FALSE(settings.seed);

  EXPECT_EQ(*change_setting(ChatVerb::temperature, "0.5", settings), "temperature 0.5");
  EXPECT_EQ(settings.temperature, 0.5f);
  ASSERT_TRUE(change_setting(ChatVerb::temperature, "model", settings).ok());
  EXPECT_FALSE(settings.temperature);

  ASSERT_TRUE(change_setting(ChatVerb::depth, "0", settings).ok());
  EXPECT_EQ(settings.depth, 0);
  ASSERT_TRUE(change_setting(ChatVerb::depth, "auto", settings).ok());
  EXPECT_FALSE(settings.depth);

  ASSERT_TRUE(change_setting(ChatVerb::thinking, "off", settings).ok());
  EXPECT_EQ(settings.thinks, false);
  ASSERT_TRUE(change_setting(ChatVerb::thinking, "model", settings).ok());
  EXPECT_FALSE(settings.thinks);

  ASSERT_TRUE(change_setting(ChatVerb::colours, "off", settings).ok());
  EXPECT_FALSE(settings.colours);
}

TEST(ChatSettings, AWrongValueChangesNothing) {
  ChatSettings settings{.seed = 7, .temperature = 1.0f, .depth = 3, .thinks = true};
  for (const auto& [verb, value] :
       {std::pair{ChatVerb::seed, "-1"}, std::pair{ChatVerb::seed, "7x"},
        std::pair{ChatVerb::seed, "18446744073709551616"}, std::pair{ChatVerb::temperature, "-1"},
        std::pair{ChatVerb::temperature, "nan"}, std::pair{ChatVerb::depth, "99"}, std::pair{ChatVerb::depth, "deep"},
        std::pair{ChatVerb::thinking, "hard"}, std::pair{ChatVerb::colours, "red"}}) {
    const auto changed = change_setting(verb, value, settings);
    ASSERT_FALSE(changed.ok()) << value;
    EXPECT_NE(changed.error().message.find(value), std::string::npos) << changed.error().message;
  }
  EXPECT_EQ(settings.seed, 7u);
  EXPECT_EQ(settings.temperature, 1.0f);
  EXPECT_EQ(settings.depth, 3);
  EXPECT_EQ(settings.thinks, true);
  EXPECT_TRUE(settings.colours);
}

}  // namespace
}  // namespace paceline
