// The policy against made-up machines and texts: time is added up, nothing is waited for.
#include "speculate/adaptive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "base/philox.h"

namespace paceline {
namespace {

struct World {
  std::function<double(int32_t rows)> step_ms;
  std::function<double(int32_t drafts)> draft_ms;
  std::function<double(int64_t token)> acceptance;  // that a draft holds, at this place of the text
};

struct Ride {
  double ms = 0;
  int64_t tokens = 0, rounds = 0, speculative_rounds = 0;
};

double dice(uint64_t round, uint32_t position) {
  return static_cast<double>(random_block(11, round, position, 0)[0]) / 4294967296.0;
}

RoundReport play_round(const World& world, int32_t depth, int64_t at, uint64_t round) {
  RoundReport report;
  report.asked = report.drafted = depth;
  while (report.accepted < depth && dice(round, static_cast<uint32_t>(report.accepted)) < world.acceptance(at)) {
    ++report.accepted;
  }
  // A tenth to and fro, and a stall now and then.
  const double noise = 0.9 + 0.2 * dice(round, 100) + (dice(round, 101) < 0.005 ? 5 : 0);
  report.draft_ms = depth > 0 ? world.draft_ms(depth) * noise : 0;
  report.step_ms = world.step_ms(depth + 1) * noise;
  return report;
}

Ride ride(const World& world, DepthPolicy& policy, int64_t tokens) {
  Ride ride;
  for (uint64_t round = 0; ride.tokens < tokens; ++round) {
    const int32_t depth = policy.depth(0, kMaxDraftTokens - 1);
    const RoundReport report = play_round(world, depth, ride.tokens, round);
    policy.observe(report);
    ride.ms += report.draft_ms + report.step_ms;
    ride.tokens += report.accepted + 1;
    ++ride.rounds;
    if (depth > 0) ++ride.speculative_rounds;
  }
  return ride;
}

double rate(const Ride& ride) { return static_cast<double>(ride.tokens) / ride.ms; }

World world(double per_row, double per_draft, double acceptance) {
  return {[=](int32_t rows) { return 10 * (1 + per_row * (rows - 1)); },
          [=](int32_t drafts) { return 10 * per_draft * drafts; }, [=](int64_t) { return acceptance; }};
}

constexpr int64_t kTokens = 20'000;

// Rides of each depth that is fixed. What is accepted does not depend on prices, and each round's noise is a factor of
// all that it takes: one ride, where a round costs one, tells the rate at any price.
class FixedRides {
 public:
  explicit FixedRides(double acceptance) {
    for (int32_t depth = 0; depth < kMaxDraftTokens; ++depth) {
      FixedDepth policy(depth);
      rates_.push_back(
          rate(ride({[](int32_t) { return 1; }, [](int32_t) { return 0; }, [=](int64_t) { return acceptance; }}, policy,
                    kTokens)));
    }
  }

  [[nodiscard]] double at(const World& world, int32_t depth) const {
    return rates_[static_cast<size_t>(depth)] / (world.step_ms(depth + 1) + (depth > 0 ? world.draft_ms(depth) : 0));
  }

  [[nodiscard]] double best(const World& world) const {
    double best = 0;
    for (int32_t depth = 0; depth < kMaxDraftTokens; ++depth) best = std::max(best, at(world, depth));
    return best;
  }

 private:
  std::vector<double> rates_;
};

TEST(AdaptiveDepth, IsNearTheBestFixedDepthAndNeverBehindPlain) {
  for (const double acceptance : {0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98}) {
    const FixedRides fixed(acceptance);
    for (const double per_row : {0.0, 0.02, 0.1, 0.4, 1.0}) {
      for (const double per_draft : {0.0, 0.02, 0.1}) {
        SCOPED_TRACE(testing::Message() << per_row << " a row, " << per_draft << " a draft, accepted " << acceptance);
        const World made = world(per_row, per_draft, acceptance);
        StepCosts costs;
        AdaptiveDepth policy(costs);
        const double adaptive = rate(ride(made, policy, kTokens));
        EXPECT_GE(adaptive, 0.98 * fixed.at(made, 0));
        EXPECT_GE(adaptive, 0.92 * fixed.best(made));
      }
    }
  }
}

TEST(AdaptiveDepth, WithoutAcceptanceProbesBecomeRare) {
  StepCosts costs;
  AdaptiveDepth policy(costs);
  const Ride ridden = ride(world(0.1, 0.05, 0.0), policy, kTokens);
  EXPECT_LT(ridden.speculative_rounds, ridden.rounds / 100);
  EXPECT_GT(ridden.speculative_rounds, kTokens / 600);
}

// Plain steps that were timed beside a busy program seem dearer than steps with drafts.
TEST(AdaptiveDepth, WithoutAcceptanceNothingIsDraftedWhereverPlainStepsSeemDear) {
  StepCosts costs;
  for (int i = 0; i < 40; ++i) {
    costs.at(0).step.observe(1, 12);
    costs.at(0).step.observe(2, 6);
    costs.at(0).draft.observe(1, 0.3);
  }
  AdaptiveDepth policy(costs);
  const World world{[](int32_t rows) { return 6 + 0.5 * rows; }, [](int32_t drafts) { return 0.3 * drafts; },
                    [](int64_t) { return 0.0; }};
  const Ride played = ride(world, policy, 1500);
  EXPECT_LT(played.speculative_rounds, 100);
}

TEST(AdaptiveDepth, ATextThatBecomesEasyIsNoticed) {
  World made = world(0.05, 0.02, 0);
  made.acceptance = [](int64_t token) { return token < 5000 ? 0.0 : 0.9; };
  StepCosts costs;
  AdaptiveDepth policy(costs);
  ride(made, policy, 5000);
  // It stands at most 512 rounds apart, then a few more until it is believed.
  const World easy = world(0.05, 0.02, 0.9);
  EXPECT_GT(ride(easy, policy, 1500).speculative_rounds, 100);
  StepCosts fresh_costs;
  AdaptiveDepth fresh(fresh_costs);
  const double settled = rate(ride(easy, policy, kTokens));
  EXPECT_GE(settled, 0.97 * rate(ride(easy, fresh, kTokens)));
}

// Of a drafter that was never right, another text is expected to be no better: it begins with plain steps, and is asked
// again soon. What a text taught about itself does not outlive it.
TEST(AdaptiveDepth, AnotherSequenceStartsFromWhatTheDrafterUsuallyReaches) {
  const auto first_draft = [](double acceptance) {
    StepCosts costs;
    AdaptiveDepth policy(costs);
    ride(world(0.05, 0.02, acceptance), policy, 5000);
    policy.reset();
    int32_t rounds = 0;
    while (policy.depth(0, 8) == 0) ++rounds;
    return rounds;
  };
  EXPECT_EQ(first_draft(0.0), 8);
  EXPECT_EQ(first_draft(0.8), 0);
}

TEST(AdaptiveDepth, ManyShortTextsWithAUselessDrafterCostLittle) {
  const World made = world(0.1, 0.1, 0.0);
  StepCosts costs;
  AdaptiveDepth policy(costs);
  ride(made, policy, 40);
  double ms = 0, plain_ms = 0;
  for (int text = 0; text < 200; ++text) {
    policy.reset();
    ms += ride(made, policy, 32).ms;
    FixedDepth none(0);
    plain_ms += ride(made, none, 32).ms;
  }
  EXPECT_LT(ms, 1.02 * plain_ms);
}

TEST(AdaptiveDepth, LongContextsAreTimedOnTheirOwn) {
  StepCosts costs;
  AdaptiveDepth policy(costs);
  ride(world(0.02, 0.02, 0.7), policy, 2000);
  EXPECT_GT(policy.depth(100, 8), 0);
  // There, each row costs more than a step.
  for (int i = 0; i < 40; ++i) {
    const int32_t depth = policy.depth(20'000, 8);
    policy.observe({.asked = depth,
                    .drafted = depth,
                    .accepted = depth,
                    .context = 20'000,
                    .draft_ms = 0.2 * depth,
                    .step_ms = 30.0 * (1 + 1.5 * depth)});
  }
  EXPECT_EQ(policy.depth(20'000, 8), 0);
  EXPECT_GT(policy.depth(100, 8), 0);
}

TEST(StepCosts, AContextWithoutTimesStartsFromItsNeighbour) {
  StepCosts costs;
  costs.at(5000).step.observe(1, 7);
  EXPECT_DOUBLE_EQ(costs.at(100'000).step.ms(1), 7);
  costs.at(100'000).step.observe(1, 9);
  EXPECT_DOUBLE_EQ(costs.at(0).step.ms(1), 7);
  EXPECT_DOUBLE_EQ(costs.at(100'001).step.ms(1), 8);
  EXPECT_EQ(StepCosts::context_class(1 << 30), StepCosts::kContexts - 1);
}

TEST(AdaptiveDepth, KeepsWithinWhatIsAllowed) {
  StepCosts costs;
  AdaptiveDepth policy(costs, 6);
  ride(world(0, 0, 1.0), policy, 1000);
  EXPECT_EQ(policy.depth(0, 15), 6);
  EXPECT_EQ(policy.depth(0, 3), 3);
  EXPECT_EQ(policy.depth(0, 0), 0);
}

TEST(CostCurve, LinesBetweenWhatWasTimed) {
  CostCurve curve(0.05);
  EXPECT_EQ(curve.ms(3), 0);
  curve.observe(1, 10);
  EXPECT_DOUBLE_EQ(curve.ms(1), 10);
  EXPECT_DOUBLE_EQ(curve.ms(5), 12);
  curve.observe(5, 18);
  EXPECT_DOUBLE_EQ(curve.ms(3), 14);
  EXPECT_EQ(curve.largest_timed(), 5);
}

TEST(CostCurve, OneStallIsNotBelieved) {
  CostCurve curve(0.05);
  for (int i = 0; i < 20; ++i) curve.observe(1, 10);
  curve.observe(1, 5000);
  EXPECT_LT(curve.ms(1), 12.5);
}

TEST(Survival, CountsOnlyWhatWasJudged) {
  Survival survival(0.5);
  for (int i = 0; i < 200; ++i) survival.observe(1, 4);  // the first holds, the second does not
  EXPECT_GT(survival.acceptance(0), 0.9);
  EXPECT_LT(survival.acceptance(1), 0.1);
  EXPECT_NEAR(survival.expected(1), survival.acceptance(0), 1e-12);
  EXPECT_LT(survival.expected(8) - survival.expected(1), 0.15);
}

}  // namespace
}  // namespace paceline
