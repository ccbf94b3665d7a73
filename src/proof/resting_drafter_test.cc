// Texts that a drafter does not read along with, since that was not worth it lately: it is not asked for them, it reads
// their prompts, and nobody can tell from a text; from none, either, that goes on from what they leave.
#include <map>

#include "kernels/cpu_ops.h"
#include "proof/golden_engine_for_tests.h"
#include "proof/load_identity.h"
#include "speculate/scripted_drafters.h"

namespace paceline {
namespace {

class Decisions : public StepObserver {
 public:
  void observe(const StepReport& report) override {
    for (const DepthDecision& one : report.decisions) {
      const bool rests = one.resting.test(static_cast<size_t>(DraftedBy::dflash));
      rests ? ++resting : ++reading;
      if (rests && one.by == DraftedBy::dflash) ++asked_at_rest;
    }
  }
  int64_t resting = 0, reading = 0, asked_at_rest = 0;
};

// Notes which rows of which text it is told of, and what of.
class Counting : public RandomDrafter {
 public:
  Counting(int32_t layer, int32_t vocab) : RandomDrafter(7, vocab), layers_{layer} {}

  [[nodiscard]] DraftedBy kind(int32_t) const override { return DraftedBy::dflash; }
  [[nodiscard]] std::span<const int32_t> tap_layers() const override { return layers_; }
  void committed(std::span<const CommittedRows> rows, const Taps& taps) override {
    for (const CommittedRows& one : rows) {
      EXPECT_NE(taps.values, nullptr);
      told = one.length;
    }
  }
  int32_t told = 0;  // positions of the last text

 private:
  std::vector<int32_t> layers_;
};

class RestingDrafter : public GoldenEngineTest<kernels::CpuOps> {
 protected:
  RestingDrafter() { parts_.observer = &decisions_; }

  void rest(size_t which) { parts_.costs[which].reading.observe(0, 100'000); }

  Decisions decisions_;
};

TEST_P(RestingDrafter, ReadsThePromptAndNoMore) {
  std::vector<std::unique_ptr<Drafter>> both;
  both.push_back(std::make_unique<NgramDrafter>());
  both.push_back(std::make_unique<Counting>(1, forward_->config().vocab));
  auto& counting = static_cast<Counting&>(*both.back());
  DrafterSet set(std::move(both), forward_->config().hidden);
  all_costs_.resize(2);
  parts_.drafter = &set;
  parts_.costs = all_costs_.data();
  Engine engine(parts_, settings_);
  rest(1);
  Request request;
  request.prompt = text_of(100);
  request.max_tokens = 30;
  request.context = 400;
  std::map<bool, int> texts;
  for (int i = 0; i < 24; ++i) {
    const int64_t rested = decisions_.resting;
    request.prompt = text_of(100, 2 + i);
    engine.submit(request, std::make_shared<Texts>());
    while (engine.step()) {
    }
    const bool rests = decisions_.resting > rested;
    ++texts[rests];
    if (rests) {
      EXPECT_EQ(counting.told, 100);
    } else {
      EXPECT_GT(counting.told, 120);
    }
  }
  EXPECT_GE(texts[true], 18);
  EXPECT_GE(texts[false], 1);
  EXPECT_EQ(decisions_.asked_at_rest, 0);
  // Who says how deep has all of them.
  request.depth = 2;
  request.prompt = text_of(90, 1);
  for (int i = 0; i < 10; ++i) {
    engine.submit(request, std::make_shared<Texts>());
    while (engine.step()) {
    }
    EXPECT_GT(counting.told, 110);
  }
}

// Alone and beside others, with prefixes that it read in part, and giving way.
TEST_P(RestingDrafter, NobodyCanTellUnderLoad) {
  use_all();
  // Again and again: some texts of this load would have it back.
  settings_.gives_way = [&](int64_t step) {
    rest(1);
    return step % 11 == 10 ? static_cast<int32_t>(step / 11 % 3) : -1;
  };
  int64_t drafted = 0;
  for (const int32_t at_once : {1, 2, 4, 12}) {
    LoadPlan plan;
    plan.text = text_of(700);
    plan.requests = 32;
    plan.at_once = at_once;
    plan.stop_ids = {5, 77, 130};
    const LoadResult result = check_load(parts_, settings_, plan);
    EXPECT_EQ(result.difference, "");
    EXPECT_EQ(result.requests, plan.requests);
    EXPECT_GT(result.prefix_hits, 0);
    drafted += result.counters.drafted;
  }
  EXPECT_GT(drafted, 0);  // of a full batch perhaps nothing: that is decided by the clock
  EXPECT_GT(decisions_.resting, 0);
  EXPECT_GT(decisions_.reading, 0);
  EXPECT_EQ(decisions_.asked_at_rest, 0);
}

INSTANTIATE_TEST_SUITE_P(Goldens, RestingDrafter, testing::Values("dense", "moe", "qwen35"), golden_name);

}  // namespace
}  // namespace paceline
