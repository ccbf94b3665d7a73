// Several drafters against made-up machines and texts: time is added up, nothing is waited for.
#include "speculate/routed_depth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
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

Outcome run(const std::vector<MadeUpDrafter>& drafters, int64_t texts, int64_t rounds, bool reads_along = false) {
  std::vector<StepCosts> costs(drafters.size());
  costs.back().reads_along = reads_along;
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

// Two cores and a small model whose rows are dear, in pairs and fours, as they were measured; an MTP drafter, a block
// drafter that is a little worse, and one that looks words up and mostly finds none.
namespace small_model {

constexpr std::array<double, 17> kStepMs{0,    1.63, 1.87, 2.44, 2.41, 3.35, 3.50, 4.25, 4.33,
                                         5.50, 5.70, 6.30, 6.35, 7.30, 7.50, 8.00, 8.10};

struct Text {
  double mtp, block;  // that a draft holds if those before it did
  int32_t tokens;
};
constexpr Text kTexts[] = {{0.93, 0.86, 150}, {0.96, 0.90, 33}, {0.97, 0.91, 45}, {0.93, 0.88, 20}, {0.72, 0.55, 17}};

enum class Who : uint8_t { mtp, block, lookup };

class World {
 public:
  explicit World(uint64_t seed) : seed_(seed) {}

  double dice() { return random_block(seed_, asked_++, 0, 0)[0] / 4294967296.0; }
  // A tenth to and fro, and a stall now and then.
  double noise() { return 0.93 + 0.14 * dice() + (dice() < 0.003 ? 10 : 0); }
  static double draft_ms(Who who, int32_t depth) {
    return who == Who::mtp ? 0.19 + 0.15 * (depth - 1) : who == Who::block ? 0.6 : 0.03;
  }
  // As calibrate() times; beside other programs each count takes once to three times as long.
  std::vector<StepCosts> calibrated(const std::vector<Who>& who, bool busy) {
    const auto times = [&] { return busy ? 1 + 2 * dice() : 0.95 + 0.1 * dice(); };
    std::vector<StepCosts> costs(who.size());
    for (const int32_t rows : {1, 2, 4, 8, 16}) {
      const double ms = kStepMs[static_cast<size_t>(rows)] * times();
      for (StepCosts& one : costs) one.at(0).step.set(rows, ms, 3);
    }
    for (const int32_t depth : {1, 2, 4, 8})
      for (size_t i = 0; i < who.size(); ++i) costs[i].at(0).draft.set(depth, draft_ms(who[i], depth) * times(), 3);
    for (size_t i = 0; i < who.size(); ++i) costs[i].deepest = most_drafts(who[i]);
    return costs;
  }
  static int32_t most_drafts(Who who) { return who == Who::block ? 7 : kMaxDraftTokens - 1; }
  RoundReport play(const DepthChoice& choice, Who who, const Text& text) {
    RoundReport round;
    round.by = choice.by;
    round.asked = choice.depth;
    const bool finds = who != Who::lookup || dice() < 0.1;
    round.drafted = finds ? std::min(choice.depth, most_drafts(who)) : 0;
    const double holds = who == Who::mtp ? text.mtp : who == Who::block ? text.block : 0.2;
    while (round.accepted < round.drafted && dice() < holds * (1 - 0.012 * round.accepted)) ++round.accepted;
    round.draft_ms = choice.depth > 0 ? draft_ms(who, choice.depth) * noise() : 0;
    round.step_ms = kStepMs[static_cast<size_t>(1 + round.drafted)] * noise();
    return round;
  }

 private:
  uint64_t seed_, asked_ = 0;
};

// Milliseconds of a stall say nothing about the choice: of each round only what it takes without it.
double cost(const RoundReport& round, Who who) {
  return kStepMs[static_cast<size_t>(1 + round.drafted)] + (round.asked > 0 ? World::draft_ms(who, round.asked) : 0);
}

// Tokens per millisecond of three texts of each kind, over and over, after so many times.
double rate(const std::vector<Who>& who, uint64_t seed, bool busy, int passes, int first) {
  World world(seed);
  std::vector<StepCosts> costs = world.calibrated(who, busy);
  double tokens = 0, ms = 0;
  for (int pass = 0; pass < passes; ++pass) {
    for (const Text& text : kTexts) {
      for (int again = 0; again < 3; ++again) {
        RoutedDepth policy(costs);
        for (int32_t written = 0; written < text.tokens;) {
          const DepthChoice choice = policy.choose(100, 15);
          const Who by = who[static_cast<size_t>(choice.by)];
          const RoundReport round = world.play(choice, by, text);
          policy.observe(round);
          written += 1 + round.accepted;
          if (pass < first) continue;
          tokens += 1 + round.accepted;
          ms += cost(round, by);
        }
        policy.reset();
      }
    }
  }
  return tokens / ms;
}

struct Reading {
  int rested = 0, asked_at_rest = 0;     // texts; rounds of them
  int64_t rounds = 0, block_rounds = 0;  // with drafts; of them, the block drafter's
};

// So many texts of a kind, where the block drafter reads along and may rest.
Reading write(World& world, std::vector<StepCosts>& costs, const Text& text, int texts) {
  constexpr std::array<Who, 2> kWho{Who::mtp, Who::block};
  Reading reading;
  for (int i = 0; i < texts; ++i) {
    RoutedDepth policy(costs);
    policy.let_rest();
    reading.rested += policy.rests(1) ? 1 : 0;
    for (int32_t written = 0; written < text.tokens;) {
      const DepthChoice choice = policy.choose(100, 15);
      const RoundReport round = world.play(choice, kWho[static_cast<size_t>(choice.by)], text);
      policy.observe(round);
      written += 1 + round.accepted;
      if (choice.depth == 0) continue;
      ++reading.rounds;
      reading.block_rounds += choice.by;
      reading.asked_at_rest += policy.rests(choice.by) ? 1 : 0;
    }
    policy.reset();
  }
  return reading;
}

std::vector<StepCosts> costs_of_reader(World& world) {
  std::vector<StepCosts> costs = world.calibrated({Who::mtp, Who::block}, false);
  costs[1].reads_along = true;
  return costs;
}

}  // namespace small_model

TEST(RoutedDepth, OneThatReadsInVainRestsUntilItPays) {
  using small_model::write;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    small_model::World world(seed);
    std::vector<StepCosts> costs = small_model::costs_of_reader(world);
    (void)write(world, costs, {0.93, 0.7, 100}, 20);
    const small_model::Reading vain = write(world, costs, {0.93, 0.7, 100}, 40);
    EXPECT_GE(vain.rested, 30);
    EXPECT_LT(vain.rested, 40) << "some are read all the same";
    EXPECT_EQ(vain.asked_at_rest, 0);
    // Long in vain, ever fewer.
    const small_model::Reading seldom = write(world, costs, {0.93, 0.7, 100}, 300);
    EXPECT_GE(seldom.rested, 290);
    EXPECT_LT(seldom.rested, 300);
    // Texts become others, that only it can guess.
    (void)write(world, costs, {0.3, 0.9, 100}, 140);
    const small_model::Reading pays = write(world, costs, {0.3, 0.9, 100}, 20);
    EXPECT_EQ(pays.rested, 0);
    EXPECT_GT(pays.block_rounds, pays.rounds * 9 / 10);
  }
}

TEST(RoutedDepth, OneThatPaysNeverRests) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    small_model::World world(seed);
    std::vector<StepCosts> costs = small_model::costs_of_reader(world);
    const small_model::Reading all = small_model::write(world, costs, {0.05, 0.9, 100}, 40);
    EXPECT_EQ(all.rested, 0);
    EXPECT_GT(all.block_rounds, all.rounds * 3 / 4);
  }
}

// The better one's first guesses failed by chance.
TEST(RoutedDepth, OneThatHadBadLuckFirstIsNotLeftBehind) {
  int64_t rounds = 0, worse = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    small_model::World world(seed);
    std::vector<StepCosts> costs = small_model::costs_of_reader(world);
    for (int i = 0; i < 5; ++i) costs[0].typical.observe(0, 1);
    (void)small_model::write(world, costs, {0.85, 0.75, 100}, 5);
    const small_model::Reading later = small_model::write(world, costs, {0.85, 0.75, 100}, 10);
    rounds += later.rounds;
    worse += later.block_rounds;
  }
  EXPECT_LT(worse, rounds / 10);
}

// A single short text is no time for that; beside one that reads along nobody is left behind for bad luck.
TEST(RoutedDepth, EachHasItsTurnsWhereOneReadsAlong) {
  const std::vector<MadeUpDrafter> drafters = {{0.9, 0.1, 0.05}, {0.2, 0.1, 0.05}};
  EXPECT_LT(run(drafters, 1, 40).rounds[1], 8);
  const Outcome reading = run(drafters, 1, 60, true);
  EXPECT_GE(reading.rounds[0], 24);
  EXPECT_GE(reading.rounds[1], 12);
}

TEST(RoutedDepth, OneAlwaysStays) {
  std::vector<StepCosts> costs(2);
  for (StepCosts& one : costs) {
    one.reads_along = true;
    one.reading.observe(0, 10'000);
  }
  bool rested = false;
  for (int i = 0; i < 100; ++i) {
    RoutedDepth policy(costs);
    policy.let_rest();
    EXPECT_TRUE(policy.is_read());
    EXPECT_FALSE(policy.rests(policy.first_awake()));
    rested = rested || policy.resting() != 0;
  }
  EXPECT_TRUE(rested);
}

// Each saves nothing, for the other is as good; both are better than the third.
TEST(RoutedDepth, OfTwoThatReadAlongOneStays) {
  std::vector<StepCosts> costs(3);
  for (int32_t which : {0, 1}) {
    costs[static_cast<size_t>(which)].reads_along = true;
    costs[static_cast<size_t>(which)].reading.observe(0, 10'000);
  }
  bool rested = false;
  for (int i = 0; i < 100; ++i) {
    RoutedDepth policy(costs);
    policy.let_rest();
    EXPECT_TRUE(policy.is_read());
    rested = rested || policy.resting() != 0;
  }
  EXPECT_TRUE(rested);
}

// Whatever was timed first, and beside whatever: several are as good as the best of them alone, and from no start on
// stays one behind.
TEST(RoutedDepth, SeveralAreAsGoodAsTheBetterFromEveryStart) {
  using small_model::rate;
  using small_model::Who;
  constexpr uint64_t kSeeds = 100;
  double alone = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) alone += rate({Who::mtp}, 1000 + seed, false, 5, 1) / kSeeds;
  for (const bool busy : {false, true}) {
    for (const auto& who : {std::vector{Who::mtp}, {Who::block, Who::mtp, Who::lookup}}) {
      SCOPED_TRACE(testing::Message() << who.size() << " drafters, timed " << (busy ? "beside others" : "alone"));
      std::vector<double> rates;
      for (uint64_t seed = 0; seed < kSeeds; ++seed) rates.push_back(rate(who, seed, busy, 5, 1) / alone);
      std::sort(rates.begin(), rates.end());
      // Chance alone makes texts differ by some per cent.
      EXPECT_GT(std::accumulate(rates.begin(), rates.end(), 0.0) / kSeeds, 0.98);
      EXPECT_GT(rates[kSeeds / 20], 0.96);
    }
  }
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
