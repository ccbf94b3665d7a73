#include "server/key_guard.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

TEST(KeyGuard, GuessesAreSlowedDown) {
  KeyAttempts attempts;
  auto now = KeyAttempts::Clock::now();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(attempts.note_wrong("a", now), 0);
  EXPECT_DOUBLE_EQ(attempts.note_wrong("a", now), 0.25);
  EXPECT_DOUBLE_EQ(attempts.note_wrong("a", now += seconds(1)), 0.5);
  EXPECT_EQ(attempts.note_wrong("b", now), 0) << "another's";
  for (int i = 0; i < 20; ++i) (void)attempts.note_wrong("a", now += seconds(9));
  EXPECT_DOUBLE_EQ(attempts.note_wrong("a", now += seconds(9)), 5);
  EXPECT_EQ(attempts.note_wrong("a", now + minutes(11)), 0) << "forgotten";
  for (int i = 0; i < 10'000; ++i) (void)attempts.note_wrong(std::to_string(i), now);
}

// Many at once take as long as one after the other.
TEST(KeyGuard, GuessesAtOnceWaitForEachOther) {
  KeyAttempts attempts;
  const auto now = KeyAttempts::Clock::now();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(attempts.note_wrong("a", now), 0);
  for (const double all : {0.25, 0.75, 1.75, 3.75, 7.75, 12.75, 17.75})
    EXPECT_NEAR(attempts.note_wrong("a", now), all, 1e-6);
  EXPECT_NEAR(attempts.note_wrong("a", now + seconds(10)), 12.75, 1e-6) << "some have been answered";
  EXPECT_EQ(attempts.note_wrong("b", now), 0);
  for (int i = 0; i < 100; ++i) (void)attempts.note_wrong("a", now);
  EXPECT_NEAR(attempts.note_wrong("a", now), 60, 1e-6) << "nobody is kept for ever";
}

TEST(KeyGuard, RequestsOfAMinute) {
  KeyLimits limits({.requests_per_minute = 2});
  const auto now = KeyLimits::Clock::now();
  EXPECT_FALSE(limits.take_request(0, now));
  EXPECT_FALSE(limits.take_request(0, now));
  EXPECT_NEAR(limits.take_request(0, now).value_or(0), 30, 0.001);
  EXPECT_FALSE(limits.take_request(1, now)) << "another's";
  EXPECT_TRUE(limits.take_request(0, now + seconds(29)));
  EXPECT_FALSE(limits.take_request(0, now + seconds(31)));
}

TEST(KeyGuard, TokensOfAMinute) {
  KeyLimits limits({.tokens_per_minute = 600});
  const auto now = KeyLimits::Clock::now();
  EXPECT_FALSE(limits.take_request(0, now));
  limits.charge(0, 1200, now);
  EXPECT_NEAR(limits.take_request(0, now).value_or(0), 60.1, 0.001);
  EXPECT_FALSE(limits.take_request(0, now + seconds(61)));
  KeyLimits none({});
  none.charge(0, 1'000'000, now);
  EXPECT_FALSE(none.take_request(0, now));
}

}  // namespace
}  // namespace paceline
