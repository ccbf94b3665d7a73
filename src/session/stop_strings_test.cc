#include "session/stop_strings.h"

#include <gtest/gtest.h>

#include <random>

namespace paceline {
namespace {

struct Expected {
  std::string text;
  bool stopped;
};

// The first stop string to be complete, the longest of those; found by trying every end.
Expected naive(const std::string& text, const std::vector<std::string>& stops) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const auto& stop : stops) {
      if (!stop.empty() && stop.size() <= end && text.compare(end - stop.size(), stop.size(), stop) == 0) {
        longest = std::max(longest, stop.size());
      }
    }
    if (longest > 0) return {text.substr(0, end - longest), true};
  }
  return {text, false};
}

TEST(StopStrings, HoldsBackWhatCouldBeginOne) {
  const std::vector<std::string> stops{"\n\nUser:"};
  StopStrings matcher(stops);
  std::string out;
  EXPECT_TRUE(matcher.push("Hello.\n", out));
  EXPECT_EQ(out, "Hello.");
  EXPECT_TRUE(matcher.push("\nUse", out));
  EXPECT_EQ(out, "Hello.");
  EXPECT_TRUE(matcher.push("ful", out));
  EXPECT_EQ(out, "Hello.\n\nUseful");
  EXPECT_FALSE(matcher.push(" yes\n\nUser: no", out));
  EXPECT_EQ(out, "Hello.\n\nUseful yes");
  EXPECT_FALSE(matcher.push("more", out));
  EXPECT_EQ(out, "Hello.\n\nUseful yes");
}

TEST(StopStrings, FinishGivesBackWhatWasHeld) {
  const std::vector<std::string> stops{"END"};
  StopStrings matcher(stops);
  std::string out;
  EXPECT_TRUE(matcher.push("the EN", out));
  EXPECT_EQ(out, "the ");
  matcher.finish(out);
  EXPECT_EQ(out, "the EN");
}

TEST(StopStrings, NoneAndEmptyOnesStopNothing) {
  const std::vector<std::string> stops{""};
  for (StopStrings matcher : {StopStrings(), StopStrings(stops)}) {
    std::string out;
    EXPECT_TRUE(matcher.push("anything", out));
    EXPECT_EQ(out, "anything");
  }
}

// Whatever the strings are: what waits for its turn holds on to them.
TEST(StopStrings, TakeLittleMemory) {
  std::mt19937 random(3);
  std::vector<std::string> stops(16, std::string(64, ' '));
  for (std::string& stop : stops) {
    for (char& c : stop) c = static_cast<char>(random());
  }
  EXPECT_LE(StopAutomaton(stops).bytes(), size_t{32} << 10);
}

TEST(StopStrings, AgreesWithNaiveSearchHoweverThePiecesAreCut) {
  std::mt19937 random(2);
  const auto word = [&](size_t longest) {
    std::string text(1 + random() % longest, ' ');
    for (char& c : text) c = static_cast<char>('a' + random() % 2);
    return text;
  };
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::string> stops;
    for (unsigned i = 0; i < 1 + random() % 4; ++i) stops.push_back(word(7));
    const std::string text = word(40);
    StopStrings matcher(stops);
    std::string out;
    for (size_t at = 0; at < text.size() && !matcher.stopped();) {
      const size_t length = std::min<size_t>(random() % 5, text.size() - at);
      const std::string before = out;
      matcher.push(std::string_view(text).substr(at, length), out);
      at += length;
      ASSERT_TRUE(out.starts_with(before));
      if (!matcher.stopped()) {
        // Held back no longer than needed: the rest is the beginning of a stop string.
        const std::string rest = text.substr(out.size(), at - out.size());
        ASSERT_TRUE(rest.empty() ||
                    std::any_of(stops.begin(), stops.end(), [&](const auto& stop) { return stop.starts_with(rest); }));
      }
    }
    const bool stopped = matcher.stopped();
    if (!stopped) matcher.finish(out);
    const Expected expected = naive(text, stops);
    ASSERT_EQ(out, expected.text) << text;
    ASSERT_EQ(stopped, expected.stopped) << text;
  }
}

}  // namespace
}  // namespace paceline
