#include "speculate/mtp/draft_window.h"

#include <gtest/gtest.h>

#include <map>

namespace paceline {
namespace {

// Rounds of so many tokens and milliseconds by window; how often each was chosen of the last half.
std::map<int32_t, int> run(DraftWindow& window, int32_t context, std::map<int32_t, std::pair<int, double>> rounds) {
  std::map<int32_t, int> chosen;
  for (int i = 0; i < 2000; ++i) {
    const int32_t now = window.choose(context);
    if (i >= 1000) ++chosen[now];
    window.observe(context, now, rounds[now].first, rounds[now].second);
  }
  return chosen;
}

TEST(DraftWindow, ShortContextsAreSeenWhole) {
  DraftWindow window;
  for (const int32_t context : {1, 500, 1024}) EXPECT_EQ(window.choose(context), 0);
  // A window of 4,096 would be no other.
  const auto chosen = run(window, 3000, {{0, {3, 1.0}}, {1024, {3, 1.0}}, {4096, {3, 0.1}}});
  EXPECT_FALSE(chosen.contains(4096));
}

TEST(DraftWindow, TheFastestTokensWin) {
  DraftWindow window;
  // Looking at less is quicker, and no worse.
  auto chosen = run(window, 100'000, {{0, {3, 2.0}}, {4096, {3, 1.7}}, {1024, {3, 1.6}}});
  EXPECT_GE(chosen[1024], 950);
  // At another context it is worse by more than it is quicker; what was learnt elsewhere does not count.
  chosen = run(window, 30'000, {{0, {4, 2.0}}, {4096, {4, 1.8}}, {1024, {2, 1.7}}});
  EXPECT_GE(chosen[4096], 950);
  chosen = run(window, 10'000, {{0, {4, 2.0}}, {4096, {3, 1.99}}, {1024, {3, 1.98}}});
  EXPECT_GE(chosen[0], 950);
}

TEST(DraftWindow, WhatChangesIsFoundOut) {
  DraftWindow window;
  run(window, 100'000, {{0, {3, 2.0}}, {4096, {3, 2.2}}, {1024, {3, 2.4}}});
  run(window, 100'000, {{0, {3, 2.0}}, {4096, {3, 2.2}}, {1024, {3, 1.5}}});
  run(window, 100'000, {{0, {3, 2.0}}, {4096, {3, 2.2}}, {1024, {3, 1.5}}});
  EXPECT_GE(run(window, 100'000, {{0, {3, 2.0}}, {4096, {3, 2.2}}, {1024, {3, 1.5}}})[1024], 950);
}

}  // namespace
}  // namespace paceline
