#include "speculate/batch_depth.h"

#include <gtest/gtest.h>

#include <memory>

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
