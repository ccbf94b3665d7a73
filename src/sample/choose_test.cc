#include "sample/choose.h"

#include <gtest/gtest.h>

#include <boost/math/distributions/chi_squared.hpp>
#include <limits>
#include <numeric>
#include <random>

#include "sample/reference_chooser.h"

namespace paceline {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::shared_ptr<const std::vector<TokenId>> ids(std::vector<TokenId> list) {
  return std::make_shared<const std::vector<TokenId>>(std::move(list));
}

std::vector<float> random_row(std::mt19937& random, int length, float spread) {
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> row(length);
  for (float& logit : row) logit = normal(random);
  return row;
}

SampleSettings greedy() {
  SampleSettings settings;
  settings.temperature = 0;
  return settings;
}

TEST(Choose, GreedyTakesTheLargestAndOfEqualsTheLowestId) {
  ChooseScratch scratch;
  const std::vector<float> row{1, 5, 3, 5, 5, -2};
  EXPECT_EQ(choose(row, {}, greedy(), 0, scratch), 1);
  std::vector<float> wide(1000, -1.0f);
  wide[777] = wide[901] = 2;
  EXPECT_EQ(choose(wide, {}, greedy(), 0, scratch), 777);
}

// Wherever it stands, and whoever would have been chosen: also where the settings bar it.
TEST(Choose, WhatIsNotANumberMakesNoChoice) {
  ChooseScratch scratch;
  SampleSettings filtered;
  filtered.top_k = 5;
  filtered.suppressed = ids({0, 70, 199});
  for (const float wrong : {kNan, kInf, -kNan})
    for (const size_t at : {0, 1, 63, 64, 70, 198, 199}) {
      std::vector<float> row(200, -3);
      row[7] = 9;
      EXPECT_EQ(choose(row, {}, greedy(), 0, scratch), 7);
      row[at] = wrong;
      EXPECT_EQ(choose(row, {}, greedy(), 0, scratch), kNoChoice);
      EXPECT_EQ(choose(row, {}, SampleSettings{}, 0, scratch), kNoChoice);
      EXPECT_EQ(choose(row, {}, filtered, 0, scratch), kNoChoice);
    }
}

TEST(Choose, MinusInfinityIsNeverChosenAndDoesNotBreakIt) {
  ChooseScratch scratch;
  constexpr float kMax = std::numeric_limits<float>::max();
  const std::vector<float> row{-kInf, 2, kMax, -kInf, kMax};
  EXPECT_EQ(choose(row, {}, greedy(), 0, scratch), 2);
  SampleSettings settings;
  settings.repetition_penalty = 0.5f;
  const std::vector<TokenId> prompt{2, 4};
  for (int64_t i = 0; i < 50; ++i) {
    const TokenId id = choose(row, {prompt, {}}, settings, i, scratch);
    EXPECT_TRUE(id == 2 || id == 4);
  }
}

TEST(Choose, NothingLeftFallsBackToTheLowestIdNotSuppressed) {
  ChooseScratch scratch;
  SampleSettings settings;
  settings.suppressed = ids({0, 1, 3});
  const std::vector<float> dead(4, -kInf);
  EXPECT_EQ(choose(dead, {}, settings, 0, scratch), kNoChoice);
  EXPECT_EQ(choose(std::vector<float>{1, 2, -kInf, 4}, {}, settings, 0, scratch), 2);
  settings.suppressed = ids({0, 1, 2, 3});
  EXPECT_EQ(choose(std::vector<float>{1, 2, 3, 4}, {}, settings, 0, scratch), 0);
}

TEST(Choose, TopKOfEqualLogitsKeepsTheLowerIds) {
  ChooseScratch scratch;
  const std::vector<float> row(300, 1.0f);
  SampleSettings settings;
  settings.top_k = 3;
  for (int64_t i = 0; i < 100; ++i) EXPECT_LT(choose(row, {}, settings, i, scratch), 3);
}

TEST(Choose, PenaltiesAreThoseOfTheirInventors) {
  ChooseScratch scratch;
  const std::vector<TokenId> prompt{0}, generated{1, 1};
  SampleSettings settings = greedy();
  const std::vector<float> row{4, 3.9f, 3.5f};
  settings.repetition_penalty = 2;  // prompt and output alike: 2, 1.95, 3.5
  EXPECT_EQ(choose(row, {prompt, generated}, settings, 2, scratch), 2);
  settings = greedy();
  settings.presence_penalty = 0.5f;  // output only: 4, 3.4, 3.5
  EXPECT_EQ(choose(row, {prompt, generated}, settings, 2, scratch), 0);
  const std::vector<float> close{3, 3.9f, 3.5f};
  EXPECT_EQ(choose(close, {prompt, generated}, settings, 2, scratch), 2);
  settings = greedy();
  settings.frequency_penalty = 0.19f;  // twice: 3.52
  EXPECT_EQ(choose(close, {prompt, generated}, settings, 2, scratch), 1);
  settings.frequency_penalty = 0.21f;  // 3.48
  EXPECT_EQ(choose(close, {prompt, generated}, settings, 2, scratch), 2);
  const std::vector<float> negative{-1, -1.5f, -1.6f};
  settings = greedy();
  settings.repetition_penalty = 2;  // -2, -3, -1.6
  EXPECT_EQ(choose(negative, {prompt, generated}, settings, 2, scratch), 2);
}

SampleSettings random_settings(std::mt19937& random, int vocab) {
  std::uniform_real_distribution<float> unit(0, 1);
  const auto sometimes = [&] { return random() % 2 == 0; };
  SampleSettings s;
  s.temperature = random() % 5 == 0 ? 0.0f : 0.2f + 2 * unit(random);
  if (sometimes()) s.top_k = 1 + static_cast<int>(random() % 100);
  if (sometimes()) s.top_p = 0.05f + 0.94f * unit(random);
  if (sometimes()) s.min_p = 0.3f * unit(random);
  if (sometimes()) s.repetition_penalty = 0.8f + unit(random);
  if (sometimes()) s.presence_penalty = 2 * unit(random) - 0.5f;
  if (sometimes()) s.frequency_penalty = unit(random) - 0.2f;
  const auto any_id = [&] { return static_cast<TokenId>(random() % static_cast<unsigned>(vocab)); };
  if (sometimes()) {
    for (int i = 0; i < 5; ++i) s.logit_bias.push_back({any_id(), 8 * unit(random) - 4});
    sort_biases(s.logit_bias);
  }
  if (sometimes()) {
    std::vector<TokenId> barred{any_id(), any_id(), any_id()};
    std::sort(barred.begin(), barred.end());
    barred.erase(std::unique(barred.begin(), barred.end()), barred.end());
    s.suppressed = ids(std::move(barred));
  }
  s.seed = random();
  return s;
}

TEST(Choose, EveryMixOfSettingsAgreesWithTheReference) {
  std::mt19937 random(7);
  ChooseScratch scratch;
  for (int round = 0; round < 3000; ++round) {
    const int vocab = 20 + static_cast<int>(random() % 700);
    auto row = random_row(random, vocab, 0.5f + static_cast<float>(random() % 4));
    if (round % 3 == 0) {
      for (float& logit : row) logit = std::round(logit * 2) / 2;  // ties
    }
    if (round % 7 == 0) row[random() % vocab] = kNan;
    std::vector<TokenId> prompt, generated;
    for (int i = 0; i < 12; ++i) prompt.push_back(static_cast<TokenId>(random() % vocab));
    for (int i = 0; i < 9; ++i) generated.push_back(static_cast<TokenId>(random() % vocab));
    const SampleSettings settings = random_settings(random, vocab);
    const TokenCounts counts(prompt, generated);
    const auto index = static_cast<int64_t>(random() % 1000);
    const bool is_wrong = round % 7 == 0;
    const TokenId expected = is_wrong ? kNoChoice : reference::choose(row, {prompt, generated}, settings, index);
    ASSERT_EQ(choose(row, {prompt, generated}, settings, index, scratch), expected) << "round " << round;
    ASSERT_EQ(choose(row, {prompt, generated, &counts}, settings, index, scratch), expected) << "round " << round;
  }
}

TEST(Choose, IsPureWhateverTheOrderOfCalls) {
  std::mt19937 random(3);
  struct Call {
    std::vector<float> row;
    SampleSettings settings;
    int64_t index;
    TokenId chosen;
  };
  std::vector<Call> calls;
  ChooseScratch scratch;
  for (int i = 0; i < 300; ++i) {
    const int vocab = 50 + static_cast<int>(random() % 2000);
    calls.push_back({random_row(random, vocab, 2), random_settings(random, vocab), i % 17, 0});
    calls.back().chosen = choose(calls.back().row, {}, calls.back().settings, calls.back().index, scratch);
  }
  std::shuffle(calls.begin(), calls.end(), random);
  for (const Call& call : calls) {
    ChooseScratch fresh;
    EXPECT_EQ(choose(call.row, {}, call.settings, call.index, scratch), call.chosen);
    EXPECT_EQ(choose(call.row, {}, call.settings, call.index, fresh), call.chosen);
  }
}

double chi_squared_tail(double statistic, int degrees) {
  return boost::math::cdf(boost::math::complement(boost::math::chi_squared(degrees), statistic));
}

// p-value of `samples` choices against the distribution that the settings leave.
double p_value(const std::vector<float>& row, SampleSettings settings, int samples, bool by_seed) {
  ChooseScratch scratch;
  std::vector<int> seen(row.size());
  for (int i = 0; i < samples; ++i) {
    if (by_seed) settings.seed = static_cast<uint64_t>(i);
    ++seen[choose(row, {}, settings, by_seed ? 5 : i, scratch)];
  }
  double statistic = 0, rest_expected = 0, rest_seen = samples;
  int cells = 0;
  for (const auto& [id, p] : reference::distribution(row, {}, settings)) {
    const double expected = p * samples;
    if (expected < 20) {  // too rare for a cell of its own
      rest_expected += expected;
      continue;
    }
    statistic += (seen[id] - expected) * (seen[id] - expected) / expected;
    rest_seen -= seen[id];
    ++cells;
  }
  if (rest_expected > 5) {
    statistic += (rest_seen - rest_expected) * (rest_seen - rest_expected) / rest_expected;
    ++cells;
  } else if (rest_expected == 0) {
    EXPECT_EQ(rest_seen, 0) << "a filtered token was chosen";
  }
  return cells < 2 ? 1 : chi_squared_tail(statistic, cells - 1);
}

TEST(Choose, SamplesFollowTheDistribution) {
  std::mt19937 random(11);
  const auto row = random_row(random, 200, 1.5f);
  SampleSettings plain;
  plain.seed = 42;
  std::vector<std::pair<const char*, SampleSettings>> cases;
  const auto add = [&](const char* name, auto change) {
    cases.emplace_back(name, plain);
    change(cases.back().second);
  };
  add("plain", [](SampleSettings&) {});
  add("top_k", [](SampleSettings& s) { s.top_k = 20; });
  add("top_p", [](SampleSettings& s) { s.top_p = 0.8f; });
  add("min_p", [](SampleSettings& s) { s.min_p = 0.1f; });
  add("cool", [](SampleSettings& s) { s.temperature = 0.7f; });
  add("hot", [](SampleSettings& s) { s.temperature = 1.5f; });
  add("gemma", [](SampleSettings& s) { s.top_k = 64, s.top_p = 0.95f; });
  for (const auto& [name, settings] : cases) {
    for (const bool by_seed : {false, true}) {
      const double p = p_value(row, settings, std::getenv("PACELINE_TEST_LONG") != nullptr ? 100'000 : 20'000, by_seed);
      EXPECT_GT(p, 0.001) << name << (by_seed ? " by seed" : " by index");
    }
  }
}

// Choices at neighbouring indices, and of neighbouring seeds, pair up as independent ones would.
TEST(Choose, NeighboursAreIndependent) {
  const std::vector<float> row{0.0f, 0.3f, -0.4f, 0.1f};
  ChooseScratch scratch;
  for (const bool by_seed : {false, true}) {
    constexpr int kSamples = 100000;
    std::vector<double> joint(16), first(4), second(4);
    for (int i = 0; i < kSamples; ++i) {
      SampleSettings settings;
      settings.seed = static_cast<uint64_t>(i) * 2;
      const TokenId a = choose(row, {}, settings, 0, scratch);
      if (by_seed) ++settings.seed;
      const TokenId b = choose(row, {}, settings, by_seed ? 0 : 1, scratch);
      ++joint[a * 4 + b], ++first[a], ++second[b];
    }
    double statistic = 0;
    for (int a = 0; a < 4; ++a) {
      for (int b = 0; b < 4; ++b) {
        const double expected = first[a] * second[b] / kSamples;
        statistic += (joint[a * 4 + b] - expected) * (joint[a * 4 + b] - expected) / expected;
      }
    }
    EXPECT_GT(chi_squared_tail(statistic, 9), 0.001) << (by_seed ? "seeds" : "indices");
  }
}

// As long as Gemma's: filters look at parts of such a row, and must not miss what lies in others.
TEST(Choose, AGemmaRowAgreesWithTheReference) {
  std::mt19937 random(5);
  auto row = random_row(random, 262144, 3);
  // The likeliest at both ends and in the middle, two of them equal.
  row[0] = row[262143] = 15, row[131072] = 14.5f;
  std::vector<std::pair<const char*, SampleSettings>> cases(4);
  cases[0] = {"greedy", greedy()};
  cases[1] = {"top_k 64, top_p 0.95", {}};
  cases[1].second.top_k = 64;
  cases[1].second.top_p = 0.95f;
  cases[2] = {"top_p 0.95", {}};
  cases[2].second.top_p = 0.95f;
  cases[3] = {"unfiltered", {}};
  ChooseScratch scratch;
  for (const auto& [name, settings] : cases) {
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(choose(row, {}, settings, i, scratch), reference::choose(row, {}, settings, i)) << name << " at " << i;
    }
  }
}

// Allows what a table says for each length of the output.
class TableConstraint : public TokenConstraint {
 public:
  explicit TableConstraint(std::vector<uint64_t> words) : words_(std::move(words)) {}
  [[nodiscard]] std::unique_ptr<ConstraintCursor> start() const override {
    class Cursor : public ConstraintCursor {
     public:
      explicit Cursor(std::vector<uint64_t> words) : words_(std::move(words)) {}
      std::span<const uint64_t> allowed(std::span<const TokenId> generated) override {
        return std::span(words_).subspan(generated.size() % words_.size(), 1);
      }

     private:
      std::vector<uint64_t> words_;
    };
    return std::make_unique<Cursor>(words_);
  }

 private:
  std::vector<uint64_t> words_;
};

TEST(Choose, OnlyWhatTheConstraintAllows) {
  ChooseScratch scratch;
  std::mt19937 random(3);
  const auto row = random_row(random, 100, 2);
  SampleSettings settings;
  settings.constraint = std::make_shared<TableConstraint>(std::vector<uint64_t>{0b1010'0000, 0b1});
  std::vector<TokenId> barred;
  for (TokenId id = 0; id < 100; ++id) {
    if (id != 5 && id != 7) barred.push_back(id);
  }
  // The same as suppressing all others, whatever the settings.
  SampleSettings suppressing;
  suppressing.suppressed = ids(barred);
  for (const int top_k : {0, 1, 64}) {
    settings.top_k = suppressing.top_k = top_k;
    for (int64_t i = 0; i < 100; ++i) {
      EXPECT_EQ(choose(row, {}, settings, i, scratch), choose(row, {}, suppressing, i, scratch));
    }
  }
  const std::vector<TokenId> one{7};
  EXPECT_EQ(choose(row, {{}, one, nullptr}, settings, 1, scratch), 0);
  EXPECT_NE(choose(row, {}, settings, 0, scratch), 0);
}

TEST(Choose, TheConstraintHoldsWhereNoLogitIsLeft) {
  ChooseScratch scratch;
  std::vector<float> row(100, -kInf);
  row[9] = 1;  // and is not allowed
  SampleSettings settings;
  settings.constraint = std::make_shared<TableConstraint>(std::vector<uint64_t>{0b1010'0000});
  EXPECT_EQ(choose(row, {}, settings, 0, scratch), 5);
  settings.suppressed = ids({5});
  EXPECT_EQ(choose(row, {}, settings, 0, scratch), 7);
  settings.suppressed = ids({5, 7});
  EXPECT_EQ(choose(row, {}, settings, 0, scratch), 5);
}

}  // namespace
}  // namespace paceline
