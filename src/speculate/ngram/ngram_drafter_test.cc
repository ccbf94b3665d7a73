#include "speculate/ngram/ngram_drafter.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/philox.h"

namespace paceline {
namespace {

std::vector<TokenId> proposed(NgramIndex& index, const std::vector<TokenId>& tokens, size_t depth) {
  std::vector<TokenId> out(depth);
  out.resize(static_cast<size_t>(index.draft(tokens, out)));
  return out;
}

std::vector<TokenId> proposed(const std::vector<TokenId>& tokens, size_t depth, NgramSettings settings = {}) {
  NgramIndex index(settings);
  return proposed(index, tokens, depth);
}

TEST(Ngram, WhatFollowedTheLatestOccurrence) {
  EXPECT_EQ(proposed({1, 2, 3, 1, 2, 4, 9, 1, 2}, 3), (std::vector<TokenId>{4, 9, 1}));
}

TEST(Ngram, TheLongestEndCountsFirst) {
  // 7 1 2 was followed by 3, the later 1 2 by 4.
  EXPECT_EQ(proposed({7, 1, 2, 3, 8, 1, 2, 4, 7, 1, 2}, 1), (std::vector<TokenId>{3}));
  EXPECT_EQ(proposed({7, 1, 2, 3, 8, 1, 2, 4, 7, 1, 2}, 1, {2, 1}), (std::vector<TokenId>{4}));
}

TEST(Ngram, NothingWhereNothingRepeats) {
  EXPECT_TRUE(proposed({1, 2, 3}, 4).empty());
  EXPECT_TRUE(proposed({1}, 4).empty());
  // One token repeats, but two are asked for.
  EXPECT_TRUE(proposed({1, 2, 3, 2}, 4, {4, 2}).empty());
  EXPECT_EQ(proposed({1, 2, 3, 2}, 1, {4, 1}), (std::vector<TokenId>{3}));
}

TEST(Ngram, AShortRepetitionGoesOnIntoTheDrafts) {
  EXPECT_EQ(proposed({5, 6, 7, 6, 7}, 5), (std::vector<TokenId>{6, 7, 6, 7, 6}));
  EXPECT_EQ(proposed({5, 5}, 3), (std::vector<TokenId>{5, 5, 5}));
}

// Each sequence has an index of its own, in whatever order they are asked for.
TEST(Ngram, SequencesKnowNothingOfEachOther) {
  NgramDrafter drafter;
  const auto one = drafter.start(), other = drafter.start();
  const std::vector<TokenId> repeats{1, 2, 1}, does_not{3, 4, 1};
  std::vector<TokenId> first(1), second(1);
  std::vector<DraftAsk> asks{{{repeats, nullptr, nullptr}, one.get(), first},
                             {{does_not, nullptr, nullptr}, other.get(), second}};
  drafter.propose(asks);
  EXPECT_EQ(asks[0].drafted, 1);
  EXPECT_EQ(first[0], 2);
  EXPECT_EQ(asks[1].drafted, 0);
}

// Looks through the whole text each time.
std::vector<TokenId> searched(const std::vector<TokenId>& tokens, size_t depth, NgramSettings settings) {
  for (auto n = static_cast<size_t>(settings.longest); n >= static_cast<size_t>(settings.shortest); --n) {
    for (size_t next = tokens.size() - 1; next >= n && n < tokens.size(); --next) {
      const auto gram = tokens.begin() + static_cast<int64_t>(next - n);
      if (!std::equal(tokens.end() - static_cast<int64_t>(n), tokens.end(), gram)) continue;
      std::vector<TokenId> text = tokens;
      for (size_t i = 0; i < depth; ++i) text.push_back(text[next + i]);
      return {text.end() - static_cast<int64_t>(depth), text.end()};
    }
  }
  return {};
}

TEST(Ngram, TheIndexFindsWhatASearchFinds) {
  for (const NgramSettings settings : {NgramSettings{4, 1}, NgramSettings{3, 2}, NgramSettings{6, 6}}) {
    NgramIndex index(settings);
    std::vector<TokenId> tokens;
    for (uint64_t i = 0; i < 600; ++i) {
      const auto words = random_block(3, i, 0, 0);
      tokens.push_back(static_cast<TokenId>(words[0] % 5));
      // Several tokens may be added between two proposals.
      if (words[1] % 3 == 0) continue;
      ASSERT_EQ(proposed(index, tokens, 5), searched(tokens, 5, settings)) << i;
    }
  }
}

}  // namespace
}  // namespace paceline
