// Several drafters against made-up machines and texts: time is added up, nothing is waited for.
#include "speculate/routed_depth.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/philox.h"

namespace paceline {
namespace {

struct MadeUpDrafter {
  double acceptance;
  double first_ms, more_ms;  // of drafting

  [[nodiscard]] double ms(int32_t depth) const { return first_ms + more_ms * (depth - 1); }
};

struct Outcome {
  double tokens_per_ms = 0;
  std::vector<int64_t> rounds;  // of each drafter
};

constexpr double kStep_ms = 1;
double step_ms(int32_t rows) { return kStep_ms * (1 + 0.03 * (rows - 1)); }

Outcome run(const std::vector<MadeUpDrafter>& drafters, int64_t texts, int64_t rounds) {
  std::vector<StepCosts> costs(drafters.size());
  Outcome outcome;
  outcome.rounds.resize(drafters.size());
  uint64_t asked = 0;
  double tokens = 0, ms = 0;
  for (int64_t text = 0; text < texts; ++text) {
    RoutedDepth policy(costs);
    for (int64_t i = 0; i < rounds; ++i) {
      const DepthChoice choice = policy.choose(100, 15);
      const MadeUpDrafter& who = drafters[static_cast<size_t>(choice.by)];
      RoundReport round;
      round.by = choice.by;
      round.asked = round.drafted = choice.depth;
      round.context = 100;
      const auto holds = [&] { return random_block(5, asked++, 0, 0)[0] / 4294967296.0 < who.acceptance; };
      while (round.accepted < choice.depth && holds()) ++round.accepted;
      round.draft_ms = choice.depth > 0 ? who.ms(choice.depth) : 0;
      round.step_ms = step_ms(1 + choice.depth);
      policy.observe(round);
      tokens += 1 + round.accepted;
      ms += round.draft_ms + round.step_ms;
      if (choice.depth > 0) ++outcome.rounds[static_cast<size_t>(choice.by)];
    }
    policy.reset();
  }
  outcome.tokens_per_ms = tokens / ms;
  return outcome;
}

TEST(RoutedDepth, TheOneThatPaysMostDrafts) {
  const MadeUpDrafter chained{0.8, 0.1, 0.1}, block{0.8, 0.3, 0}, wrong{0.02, 0.01, 0.01};
  const Outcome all = run({chained, block, wrong}, 4, 2000);
  const double best = std::max(run({chained}, 4, 2000).tokens_per_ms, run({block}, 4, 2000).tokens_per_ms);
  EXPECT_GT(all.tokens_per_ms, 0.96 * best);
  EXPECT_LT(all.rounds[2], all.rounds[0] + all.rounds[1]);
}

// Whatever their price, and however short the texts.
TEST(RoutedDepth, ThoseThatNeverPayCostNothingButTheirProbes) {
  const MadeUpDrafter dear{0.0, 1.0, 0.5}, cheap{0.0, 0.02, 0.02}, block{0.01, 2.0, 0};
  EXPECT_GT(run({dear, cheap, block}, 4, 4000).tokens_per_ms, 0.98 / kStep_ms);
  EXPECT_GT(run({dear, cheap}, 40, 300).tokens_per_ms, 0.95 / kStep_ms);
}

TEST(RoutedDepth, OneAloneIsAskedAsItWouldBe) {
  std::vector<StepCosts> costs(1);
  StepCosts same;
  RoutedDepth routed(costs);
  AdaptiveDepth alone(same);
  for (int i = 0; i < 200; ++i) {
    const DepthChoice choice = routed.choose(100, 15);
    ASSERT_EQ(choice.depth, alone.depth(100, 15));
    RoundReport round;
    round.asked = round.drafted = choice.depth;
    round.accepted = choice.depth / 2;
    round.step_ms = step_ms(1 + choice.depth);
    round.draft_ms = 0.1 * choice.depth;
    routed.observe(round);
    alone.observe(round);
  }
}

}  // namespace
}  // namespace paceline
