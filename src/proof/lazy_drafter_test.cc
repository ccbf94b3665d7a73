// Drafters whose weights wait for their first use, and are held back when memory is short: nobody can tell from a text.
#include "session/lazy_drafter.h"

#include <gtest/gtest.h>

#include "kernels/cpu_ops.h"
#include "proof/decode.h"
#include "proof/golden_engine_for_tests.h"
#include "proof/load_identity.h"

namespace paceline {
namespace {

class LazyDflashTest : public GoldenEngineTest<kernels::CpuOps> {
 protected:
  LazyDflashTest() {
    lazy_ = LazyDrafter::make(FoundDrafter::load(dflash_folder(), *forward_, pool_, ops_).value());
    parts_.drafter = lazy_.get();
    settings_.fixed_depth = 7;
  }

  [[nodiscard]] Request request() const {
    Request made;
    made.prompt = text_of(200);
    made.sampling.temperature = 0;
    made.max_tokens = 120;
    made.context = model_.config.context;
    return made;
  }

  std::shared_ptr<Texts> run(Engine& engine) {
    const auto texts = std::make_shared<Texts>();
    engine.submit(request(), texts);
    while (engine.step()) {
    }
    EXPECT_EQ(texts->tokens[0], decode(*forward_, decode_request(request(), 0), {}).tokens);
    return texts;
  }

  std::unique_ptr<LazyDrafter> lazy_;
};

TEST_P(LazyDflashTest, ComesWithTheFirstTextAndReadsAllOfIt) {
  EXPECT_EQ(lazy_->kind(0), DraftedBy::dflash);
  EXPECT_FALSE(lazy_->loaded());
  Engine engine(parts_, settings_);
  EXPECT_FALSE(lazy_->loaded());
  const SpeculationCounters counters = run(engine)->ends[0].counters;
  EXPECT_TRUE(lazy_->loaded());
  // As many of its guesses hold as of one that was there from the start.
  const auto other = model_.weights->make_forward(ops_, Precision::bf16);
  const auto there = FoundDrafter::load(dflash_folder(), *other, pool_, ops_).value().drafter();
  FixedDepth fixed(7);
  const DecodeOutcome expected = decode(*other, decode_request(request(), 0), {}, {there.get(), &fixed});
  EXPECT_GT(counters.accepted, 5);
  EXPECT_EQ(counters.accepted_at, expected.counters.accepted_at);
  EXPECT_EQ(counters.drafted_at, expected.counters.drafted_at);
}

TEST_P(LazyDflashTest, HeldBackInTheMiddleItGuessesNoMoreOfThatText) {
  settings_.keeps_prefixes = false;
  Engine whole_engine(parts_, settings_);
  const int64_t whole = run(whole_engine)->ends[0].counters.drafted;
  bool was_dropped = false;
  settings_.gives_way = [&](int64_t step) {
    if (step == 6 || step == 10) lazy_->let(step == 10);
    was_dropped = was_dropped || !lazy_->loaded();
    return -1;
  };
  Engine engine(parts_, settings_);
  const int64_t some = run(engine)->ends[0].counters.drafted;
  EXPECT_TRUE(was_dropped);
  EXPECT_FALSE(lazy_->loaded()) << "the next text loads it";
  EXPECT_GT(some, 0);
  EXPECT_LT(some, whole / 2);
  settings_.gives_way = nullptr;
  Engine again(parts_, settings_);
  EXPECT_EQ(run(again)->ends[0].counters.drafted, whole);
  EXPECT_TRUE(lazy_->loaded());
}

// Beside others, with prefixes that it read in part, or not at all.
TEST_P(LazyDflashTest, ComesAndGoesUnderLoad) {
  settings_.gives_way = [&](int64_t step) {
    if (step % 7 == 0) lazy_->let(step % 14 == 0);
    return step % 11 == 10 ? static_cast<int32_t>(step / 11 % 3) : -1;
  };
  LoadPlan plan;
  plan.text = text_of(700);
  plan.requests = 24;
  plan.at_once = 12;
  plan.stop_ids = {5, 77, 130};
  const LoadResult result = check_load(parts_, settings_, plan);
  EXPECT_EQ(result.difference, "");
  EXPECT_EQ(result.requests, plan.requests);
  EXPECT_GT(result.counters.drafted, 0);
  EXPECT_GT(result.prefix_hits, 0);
  EXPECT_GT(result.gave_way, 0);
}

INSTANTIATE_TEST_SUITE_P(Goldens, LazyDflashTest, testing::Values("dense", "moe", "qwen35"), golden_name);

}  // namespace
}  // namespace paceline
