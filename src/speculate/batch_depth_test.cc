#include "speculate/batch_depth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "base/philox.h"

namespace paceline {
namespace {

// Steps of so many milliseconds by rows, drafts of so many by sequences in a pass.
struct BatchWorld {
  double first_row, more_rows, pass;
};

class BatchDepthTest : public testing::Test {
 protected:
  explicit BatchDepthTest() : batch_({&costs_, 1}, {false}, 256) {}

  void add(double acceptance, int count) {
    for (int i = 0; i < count; ++i) {
      seqs_.push_back(std::make_unique<RoutedDepth>(std::span(&costs_, 1)));
      acceptance_.push_back(acceptance);
    }
  }

  // Rounds in that world; the depths of the last one.
  std::vector<int32_t> run(const BatchWorld& world, int rounds) {
    std::vector<DepthAsk> asks;
    for (int round = 0; round < rounds; ++round) {
      asks.clear();
      for (auto& seq : seqs_) asks.push_back({seq.get(), 100, 15});
      batch_.choose(asks);
      DraftPasses drafting;
      std::vector<int32_t>& passes = drafting.sequences;
      int32_t rows = 0;
      double draft_ms = 0;
      for (size_t i = 0; i < asks.size(); ++i) {
        rows += 1 + asks[i].choice.depth;
        for (int32_t k = 0; k < asks[i].choice.depth; ++k) {
          if (passes.size() <= static_cast<size_t>(k)) passes.push_back(0);
          ++passes[static_cast<size_t>(k)];
        }
      }
      draft_ms = world.pass * static_cast<double>(passes.size());
      const double step_ms = world.first_row + world.more_rows * (rows - 1);
      for (size_t i = 0; i < asks.size(); ++i) observe(i, asks[i].choice.depth, draft_ms, step_ms);
      drafting.ms = draft_ms;
      batch_.observe({100, rows, static_cast<int32_t>(asks.size()), {&drafting, 1}, step_ms});
      drafts_ += rows - static_cast<int32_t>(asks.size());
      ms_ += step_ms + draft_ms;
      tokens_ += static_cast<int64_t>(asks.size());
    }
    std::vector<int32_t> depths;
    for (const DepthAsk& ask : asks) depths.push_back(ask.choice.depth);
    return depths;
  }

  void observe(size_t i, int32_t depth, double draft_ms, double step_ms) {
    RoundReport round;
    round.asked = round.drafted = depth;
    round.context = 100;
    round.draft_ms = depth > 0 ? draft_ms : 0;
    round.step_ms = step_ms;
    dice_[i % 8] += acceptance_[i];
    while (round.accepted < depth && dice_[i % 8] >= 1) {
      ++round.accepted;
      dice_[i % 8] += acceptance_[i] - 1;
    }
    if (round.accepted < depth && dice_[i % 8] >= 1) dice_[i % 8] -= 1;
    tokens_ += round.accepted;
    seqs_[i]->of(0).observe_drafts(round);
  }

  StepCosts costs_;
  BatchDepth batch_;
  std::vector<std::unique_ptr<RoutedDepth>> seqs_;
  std::vector<double> acceptance_;
  double dice_[8] = {};
  int64_t drafts_ = 0, tokens_ = 0;
  double ms_ = 0;
};

// Rows for nothing: everyone gets many.
TEST_F(BatchDepthTest, DraftsWhereRowsAreFree) {
  add(0.9, 4);
  const auto depths = run({10, 0.01, 0.1}, 300);
  for (const int32_t depth : depths) EXPECT_GE(depth, 4);
  EXPECT_GT(static_cast<double>(tokens_) / ms_, 2.5 * 4 / 10);
}

// Rows that a drafter cannot fill would be missing elsewhere.
TEST_F(BatchDepthTest, NoDeeperThanItsDrafterGuesses) {
  costs_.deepest = 3;
  add(0.99, 4);
  for (int round = 0; round < 300; ++round)
    for (const int32_t depth : run({10, 0.01, 0.1}, 1)) ASSERT_LE(depth, 3) << round;
  EXPECT_EQ(run({10, 0.01, 0.1}, 1), std::vector<int32_t>(4, 3));
}

// Every row costs as much as a step of one: a draft is a token that may be wrong.
TEST_F(BatchDepthTest, NoneWhereEveryRowCosts) {
  add(0.8, 16);
  run({1, 1, 0.1}, 1000);
  // Probes, and what it takes to learn the prices.
  EXPECT_LT(drafts_, 1000 * 16 / 80);
  EXPECT_GT(static_cast<double>(tokens_) / ms_, 0.99);
}

// Plain steps that were timed beside a busy program seem dearer than steps with drafts.
TEST_F(BatchDepthTest, DraftsThatNeverHoldAreGivenUpWhereverPlainStepsSeemDear) {
  add(0, 2);
  for (int i = 0; i < 40; ++i) {
    costs_.batch_at(100).step.observe(2, 12);
    costs_.batch_at(100).step.observe(3, 6);
    costs_.batch_at(100).pass.observe(1, 0.3);
  }
  drafts_ = 0;
  run({6, 0.5, 0.3}, 1500);
  EXPECT_LT(drafts_, 200);
}

// What a calibration of one sequence says of rows, and a device's steps of more than that: little for a row more where
// weights are read for all of them, still less where most experts are read already.
class DeviceSteps : public testing::Test {
 protected:
  struct Steps {
    double one, each, many;  // milliseconds: a row, each up to 16, each behind them
    [[nodiscard]] double ms(int32_t rows) const {
      return one + each * (std::min(rows, 16) - 1) + many * std::max(0, rows - 16);
    }
  };
  void SetUp() override { costs_.deepest = 7; }
  void calibrate(const Steps& steps) {
    for (const int32_t rows : {1, 2, 4, 8, 16}) costs_.at(100).step.set(rows, steps.ms(rows), 3);
    for (const int32_t drafts : {1, 2, 4, 8}) costs_.at(100).draft.set(drafts, kPass_ms * drafts, 3);
  }
  // Tokens per millisecond of so many steps of 16 sequences, of which each ends now and then, ÷ plain ones.
  double rate(const Steps& steps, std::span<const double> stand, int32_t rounds) {
    constexpr int32_t kSequences = 16, kTextTokens = 128;
    BatchDepth batch({&costs_, 1}, {false}, 256);
    std::vector<std::unique_ptr<RoutedDepth>> seqs(kSequences);
    std::vector<int32_t> left(kSequences);
    double ms = 0, tokens = 0;
    for (int32_t round = 0; round < rounds; ++round) {
      std::vector<DepthAsk> asks;
      for (size_t i = 0; i < seqs.size(); ++i) {
        if (left[i] <= 0) {
          if (seqs[i] != nullptr) seqs[i]->reset();
          seqs[i] = std::make_unique<RoutedDepth>(std::span(&costs_, 1));
          left[i] = round > 0 ? kTextTokens : kTextTokens * static_cast<int32_t>(i + 1) / kSequences;
        }
        asks.push_back({seqs[i].get(), 100, 15});
      }
      batch.choose(asks);
      int32_t rows = 0, deepest = 0;
      for (const DepthAsk& ask : asks) {
        rows += 1 + ask.choice.depth;
        deepest = std::max(deepest, ask.choice.depth);
      }
      DraftPasses drafting;
      for (int32_t pass = 0; pass < deepest; ++pass)
        drafting.sequences.push_back(static_cast<int32_t>(
            std::ranges::count_if(asks, [&](const DepthAsk& ask) { return ask.choice.depth > pass; })));
      drafting.ms = kPass_ms * deepest;
      for (size_t i = 0; i < asks.size(); ++i) {
        RoundReport report;
        report.asked = report.drafted = asks[i].choice.depth;
        report.step_ms = steps.ms(rows);
        report.draft_ms = report.drafted > 0 ? drafting.ms : 0;
        const double drawn =
            random_block(3, static_cast<uint64_t>(round), static_cast<uint32_t>(i), 0)[0] / 4294967296.0;
        while (report.accepted < report.drafted && drawn < stand[static_cast<size_t>(report.accepted)])
          ++report.accepted;
        left[i] -= 1 + report.accepted;
        tokens += 1 + report.accepted;
        asks[i].policy->of(0).observe_drafts(report);
      }
      batch.observe({100, rows, kSequences, {&drafting, 1}, steps.ms(rows)});
      ms += steps.ms(rows) + drafting.ms;
    }
    return tokens / ms / (kSequences / steps.ms(kSequences));
  }

  static constexpr double kPass_ms = 1;
  // Chances that the first draft, the first two, ... stand.
  static constexpr double kStand[7] = {.80, .68, .57, .48, .40, .33, .27};
  static constexpr double kNever[7] = {};
  // 31B and 26B-A4B on an H200, about; a processor.
  static constexpr Steps kDense{14.4, 0.2, 0.12}, kExperts{2.5, 0.4, 0.09}, kProcessor{6, 2, 2};
  StepCosts costs_;
};

TEST_F(DeviceSteps, DraftsOfManySequencesAreFoundWorthItSoon) {
  calibrate(kDense);
  EXPECT_GT(rate(kDense, kStand, 100), 1.8);  // the best depth: 2.1
}
TEST_F(DeviceSteps, ThoughTheLineFromFewerRowsSaysTheyAreNot) {
  calibrate(kExperts);
  EXPECT_GT(rate(kExperts, kStand, 100), 1.35);  // 1.6
}
// A drafter without a guess: its steps have no more rows than plain ones, and teach nothing.
TEST_F(DeviceSteps, WhoeverHasNoGuessIsNotAskedByAllInEveryStep) {
  calibrate(kExperts);
  BatchDepth batch({&costs_, 1}, {true}, 256);
  std::vector<std::unique_ptr<RoutedDepth>> seqs;
  for (int i = 0; i < 16; ++i) seqs.push_back(std::make_unique<RoutedDepth>(std::span(&costs_, 1)));
  int32_t asked_of_all = 0;
  for (int32_t round = 0; round < 128; ++round) {
    std::vector<DepthAsk> asks;
    for (auto& seq : seqs) asks.push_back({seq.get(), 100, 15});
    batch.choose(asks);
    if (std::ranges::all_of(asks, [](const DepthAsk& ask) { return ask.choice.depth > 0; })) ++asked_of_all;
    DraftPasses drafting;
    drafting.sequences = {16};
    batch.observe({100, 16, 16, {&drafting, 1}, kExperts.ms(16)});
  }
  EXPECT_GE(asked_of_all, 1);
  EXPECT_LE(asked_of_all, 3);
}
TEST_F(DeviceSteps, FindingOutThatTheyAreNotCostsLittle) {
  calibrate(kProcessor);
  EXPECT_GT(rate(kProcessor, kStand, 200), 0.985);
}
TEST_F(DeviceSteps, NorWhereTheyNeverHold) {
  calibrate(kDense);
  EXPECT_GT(rate(kDense, kNever, 200), 0.98);
}
TEST_F(DeviceSteps, NorBothAtOnce) {
  calibrate(kProcessor);
  EXPECT_GT(rate(kProcessor, kNever, 200), 0.98);
}

TEST_F(BatchDepthTest, RowsGoToThoseWhoseDraftsHold) {
  add(0.95, 2);
  add(0.1, 2);
  const auto depths = run({10, 0.8, 0.1}, 400);
  EXPECT_GT(depths[0], 1);
  EXPECT_GT(depths[1], 1);
  EXPECT_LE(depths[2], 1);
  EXPECT_LE(depths[3], 1);
}

TEST_F(BatchDepthTest, NeverMoreRowsThanAStepHas) {
  add(0.99, 100);
  run({10, 0, 0.01}, 200);
  std::vector<DepthAsk> asks;
  for (auto& seq : seqs_) asks.push_back({seq.get(), 100, 15});
  batch_.choose(asks);
  int32_t rows = 0;
  for (const DepthAsk& ask : asks) rows += 1 + ask.choice.depth;
  EXPECT_LE(rows, 256);
}

// Though its drafts would hold: it has not read the text.
TEST(BatchDepth, OneThatRestsIsNotAsked) {
  std::vector<StepCosts> costs(2);
  costs[1].reads_along = true;
  costs[1].reading.observe(0, 10'000);
  for (int i = 0; i < 100; ++i) costs[0].typical.observe(0, 1);
  for (int i = 0; i < 100; ++i) costs[1].typical.observe(7, 7);
  BatchDepth batch(costs, {false, true}, 256);
  RoutedDepth first(costs), second(costs);
  while (!second.rests(1)) second.let_rest();
  bool drafts = false;
  for (int round = 0; round < 300; ++round) {
    std::vector<DepthAsk> asks{{&first, 100, 15}, {&second, 100, 15}};
    batch.choose(asks);
    drafts = drafts || (asks[0].choice.by == 1 && asks[0].choice.depth > 0);
    ASSERT_EQ(asks[1].choice.by, 0) << round;
    std::vector<DraftPasses> drafting(2);
    const int32_t rows = 2 + asks[0].choice.depth + asks[1].choice.depth;
    batch.observe({100, rows, 2, drafting, 10 + 0.01 * rows});
  }
  EXPECT_TRUE(drafts);
}

TEST(CostCurve, GoesOnBeyondTheLargestAsFromHalfOfIt) {
  CostCurve curve(0.05);
  for (int round = 0; round < 5; ++round)
    for (const int32_t count : {1, 8, 16}) curve.observe(count, count == 1 ? 5 : 10 + 0.1 * count);
  EXPECT_NEAR(curve.ms(26), 11.6 + 1, 0.1);
  curve.observe(17, 40);  // no more than a share of the largest each
  EXPECT_LE(curve.ms(27), curve.ms(17) * 1.5 + 0.1);
}

TEST(CostCurve, KnowsLargeCountsByTheirNeighbours) {
  CostCurve curve(0.05);
  for (int round = 0; round < 5; ++round)
    for (const int32_t count : {1, 40, 64, 100, 777}) curve.observe(count, 2.0 * count);
  EXPECT_NEAR(curve.ms(64), 128, 0.1);
  EXPECT_NEAR(curve.ms(82), 164, 10);
  EXPECT_NEAR(curve.ms(100), 200, 20);
  EXPECT_NEAR(curve.ms(777), 1554, 60);
  EXPECT_GE(curve.samples(777), 5);
  EXPECT_EQ(curve.samples(500), 0);
}

}  // namespace
}  // namespace paceline
