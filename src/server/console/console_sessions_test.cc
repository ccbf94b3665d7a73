#include "server/console/console_sessions.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

using Clock = ConsoleSessions::Clock;

std::string cookie_of(const std::string& header) { return header.substr(0, header.find(';')); }

TEST(ConsoleSessions, StandForTheirKeyUntilTheyEnd) {
  ConsoleSessions sessions;
  const auto now = Clock::now();
  const std::string header = sessions.begin({.key = 3, .is_admin = true}, now);
  for (const char* word : {"HttpOnly", "SameSite=Strict", "Max-Age=43200"})
    EXPECT_NE(header.find(word), std::string::npos);
  const std::string cookie = cookie_of(header);
  const auto found = sessions.find("a=b; " + cookie + "; c=d", now);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->key, 3U);
  EXPECT_TRUE(found->is_admin);
  EXPECT_FALSE(sessions.find(cookie, now + ConsoleSessions::kLasts));
  EXPECT_FALSE(sessions.find("paceline_session=" + std::string(64, '0'), now));
  EXPECT_FALSE(sessions.find("", now));
  sessions.end(cookie);
  EXPECT_FALSE(sessions.find(cookie, now));
}

TEST(ConsoleSessions, FiveAttemptsInAMinute) {
  ConsoleSessions sessions;
  const auto now = Clock::now();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(sessions.try_from("a", now), 0);
  EXPECT_GT(sessions.try_from("a", now + std::chrono::seconds(1)), 58);
  EXPECT_EQ(sessions.try_from("b", now), 0);
  EXPECT_EQ(sessions.try_from("a", now + std::chrono::seconds(61)), 0);
}

}  // namespace
}  // namespace paceline
