// Whoever gives its pages up is computed again, and nobody can tell: the same tokens and log-probabilities, each once,
// whichever step it happens before and however little memory there is.
#include <gtest/gtest.h>

#include <map>

#include "proof/device_like_ops_for_tests.h"
#include "proof/golden_engine_for_tests.h"
#include "proof/load_identity.h"
#include "proof/long_form_for_tests.h"
#include "speculate/ngram/ngram_drafter.h"

namespace paceline {
namespace {

// All that a request is told, but for how tokens came about and how many came at once, where there are drafts.
class Stream : public Listener {
 public:
  struct Choice {
    std::vector<TokenId> tokens;
    std::vector<float> logprobs;
    std::vector<EndReason> ends;
    int32_t output_tokens = 0;
    bool operator==(const Choice&) const = default;
  };

  Heard hear(const Event& event) override {
    Choice& choice = choices[event.choice];
    EXPECT_TRUE(choice.ends.empty());
    int32_t& done = prompt_done_[event.choice];
    EXPECT_GE(event.prompt_done, done);
    // Nothing is said twice.
    EXPECT_TRUE(event.prompt_done > done || !event.tokens.empty() || event.end != nullptr);
    done = event.prompt_done;
    EXPECT_TRUE(cached_ < 0 || event.choice > 0 || event.cached == cached_ || event.tokens.empty());
    if (!event.tokens.empty()) cached_ = event.cached;
    for (const NewToken& token : event.tokens) {
      choice.tokens.push_back(token.id);
      choice.logprobs.push_back(token.logprobs.chosen);
    }
    if (event.end != nullptr) {
      choice.ends.push_back(event.end->reason);
      choice.output_tokens = event.end->output_tokens;
    }
    return {event.tokens.size(), false};
  }

  std::map<int32_t, Choice> choices;

 private:
  std::map<int32_t, int32_t> prompt_done_;
  int32_t cached_ = -1;
};

// Even ids behind even many tokens, odd ones behind odd many.
struct Alternating : TokenConstraint, ConstraintCursor {
  std::vector<uint64_t> words;
  std::span<const uint64_t> allowed(std::span<const TokenId> generated) override {
    words.assign(16, generated.size() % 2 == 0 ? 0x5555555555555555u : 0xaaaaaaaaaaaaaaaau);
    return words;
  }
  [[nodiscard]] std::unique_ptr<ConstraintCursor> start() const override { return std::make_unique<Alternating>(); }
};

using Streams = std::vector<std::map<int32_t, Stream::Choice>>;

template <class Backend>
class GivingWay : public GoldenEngineTest<Backend> {
 protected:
  [[nodiscard]] Request request(int32_t prompt_tokens, int32_t max_tokens, TokenId first) const {
    Request made;
    made.prompt = text_of(static_cast<size_t>(prompt_tokens), first);
    made.max_tokens = max_tokens;
    made.context = this->model_.config.context;
    made.sampling.seed = 3;
    made.top_logprobs = 0;
    return made;
  }

  // One that is greedy; one of several choices; one with penalties and a form that begins as the first does.
  [[nodiscard]] std::vector<Request> requests() const {
    std::vector<Request> all{request(90, 20, 2), request(150, 14, 7), request(70, 18, 2)};
    all[0].sampling.temperature = 0;
    all[1].choices = 3;
    all[2].sampling.repetition_penalty = 1.3f;
    all[2].sampling.presence_penalty = 0.5f;
    all[2].sampling.constraint = std::make_shared<Alternating>();
    return all;
  }

  Streams run(const std::function<int32_t(int64_t)>& gives_way) {
    EngineSettings settings = this->settings_;
    settings.gives_way = gives_way;
    Engine engine(this->parts_, settings);
    std::vector<std::shared_ptr<Stream>> heard;
    for (const Request& one : requests()) {
      heard.push_back(std::make_shared<Stream>());
      EXPECT_EQ(engine.submit(one, heard.back()).refusal, Refusal::none);
      engine.step();
    }
    while (engine.step()) {
    }
    EXPECT_STREQ(engine.integrity_problem(), "");
    const EngineStats stats = engine.stats();
    EXPECT_FALSE(stats.failed) << stats.failure;
    EXPECT_EQ(stats.running_bytes, 0u);
    EXPECT_EQ(stats.waiting, 0);
    steps_ = stats.steps;
    gave_way_ = stats.gave_way;
    Streams streams;
    for (const auto& one : heard) streams.push_back(one->choices);
    return streams;
  }

  // Before every step of so many.
  void expect_same_at_steps(int64_t stride) {
    this->settings_.chunk_rows = 60;
    this->settings_.chunk_rows_beside = 40;
    const Streams expected = run({});
    const int64_t steps = steps_;
    EXPECT_GT(steps, 10);
    EXPECT_EQ(gave_way_, 0);
    for (int64_t at = 0; at < steps; at += stride) {
      SCOPED_TRACE(testing::Message() << "before step " << at);
      // The newest, and now and then one or all of the others.
      const auto which = static_cast<int32_t>(at % 3);
      ASSERT_EQ(run([&](int64_t step) { return step == at ? which : -1; }), expected);
    }
    // Again and again, as soon as it has gone on a little.
    ASSERT_EQ(run([&](int64_t step) { return step % 4 == 3 ? static_cast<int32_t>(step / 4 % 5) : -1; }), expected);
    EXPECT_GT(gave_way_, 2);
  }

  // Where prefixes are kept before every step; the rest likewise where there is time.
  void expect_same(bool at_every_step = true) {
    for (const bool keeps : {true, false}) {
      SCOPED_TRACE(keeps ? "keeps prefixes" : "keeps none");
      this->settings_.keeps_prefixes = keeps;
      ASSERT_NO_FATAL_FAILURE(expect_same_at_steps(long_form() || (keeps && at_every_step) ? 1 : 4));
    }
  }

  // Less than a third of what those at once want: everything has to take turns.
  void expect_identity_in_little(int32_t requests) {
    LoadPlan plan;
    plan.text = text_of(700);
    plan.requests = requests;
    plan.at_once = 16;
    plan.longest_prompt = 80;
    plan.most_tokens = 300;
    plan.stop_ids = {5, 77, 130};
    const KvLayout& layout = this->forward_->kv_layout();
    this->settings_.kv_bytes = 5 * layout.sequence_bytes(190, kMaxForwardRows);
    const LoadResult result = check_load(this->parts_, this->settings_, plan);
    EXPECT_EQ(result.difference, "");
    EXPECT_EQ(result.requests, requests);
    EXPECT_GT(result.gave_way, 0);
    EXPECT_GT(result.most_running, 4);
  }

  int64_t steps_ = 0, gave_way_ = 0;
};

using HostGivingWay = GivingWay<kernels::CpuOps>;
using DeviceGivingWay = GivingWay<DeviceLikeOps>;

TEST_P(HostGivingWay, BeforeAnyStep) { expect_same(); }
TEST_P(HostGivingWay, BeforeAnyStepWithDrafts) {
  use_mtp();
  settings_.fixed_depth = 3;
  expect_same();
}
TEST_P(HostGivingWay, BeforeAnyStepWithDraftsByThePolicy) {
  use_mtp();
  expect_same(false);
}
TEST_P(HostGivingWay, BeforeAnyStepWithAllDrafters) {
  use_all();
  expect_same(false);
}
TEST_P(HostGivingWay, BeforeAnyStepWithBlocks) {
  if (!has_dflash()) GTEST_SKIP() << "this model has no such drafter";
  use_dflash();
  settings_.fixed_depth = 6;
  expect_same(false);
}
// Nobody asks: rows wait, and what waits of one that gives way goes with it.
TEST_P(HostGivingWay, BeforeAnyStepWhileRowsWaitForBlocks) {
  if (!has_dflash()) GTEST_SKIP() << "this model has no such drafter";
  use_dflash();
  settings_.fixed_depth = 0;
  expect_same(false);
}
TEST_P(DeviceGivingWay, BeforeAnyStep) { expect_same(false); }
TEST_P(DeviceGivingWay, BeforeAnyStepWithDrafts) {
  use_mtp();
  settings_.fixed_depth = 3;
  expect_same(false);
}

TEST_P(HostGivingWay, AThirdOfTheMemory) { expect_identity_in_little(long_form() ? 48 : 16); }
TEST_P(HostGivingWay, AThirdOfTheMemoryWithDrafts) {
  NgramDrafter ngrams;
  parts_.drafter = &ngrams;
  settings_.fixed_depth = 4;
  expect_identity_in_little(long_form() ? 48 : 16);
}
TEST_P(HostGivingWay, AThirdOfTheMemoryWithBlocks) {
  if (!has_dflash()) GTEST_SKIP() << "this model has no such drafter";
  use_dflash();
  settings_.fixed_depth = 6;
  expect_identity_in_little(long_form() ? 48 : 16);
}
TEST_P(HostGivingWay, AThirdOfTheMemoryAndNothingKept) {
  settings_.keeps_prefixes = false;
  expect_identity_in_little(long_form() ? 48 : 16);
}
TEST_P(DeviceGivingWay, AThirdOfTheMemoryWithDrafts) {
  use_mtp();
  settings_.fixed_depth = 4;
  expect_identity_in_little(long_form() ? 48 : 16);
}

// Beside others that came first, there is no memory for all choices at once: they take turns, and are all there in the
// end.
TEST_P(HostGivingWay, ChoicesThatDoNotFitTogetherTakeTurns) {
  Request four = request(130, 60, 2);
  four.choices = 4;
  const auto run_beside = [&] {
    Engine engine(parts_, settings_);
    const auto others = std::make_shared<Texts>();
    for (TokenId first = 10; first < 16; ++first) engine.submit(request(20, 200, first), others);
    for (int i = 0; i < 20; ++i) engine.step();
    const auto own = std::make_shared<Stream>();
    EXPECT_EQ(engine.submit(four, own).refusal, Refusal::none);
    while (engine.step()) {
    }
    EXPECT_STREQ(engine.integrity_problem(), "");
    EXPECT_EQ(others->ends.size(), 6u);
    gave_way_ = engine.stats().gave_way;
    return own->choices;
  };
  const auto expected = run_beside();
  EXPECT_EQ(expected.size(), 4u);
  EXPECT_EQ(gave_way_, 0);
  settings_.kv_bytes = 4 * forward_->kv_layout().sequence_bytes(190, kMaxForwardRows);
  for (const bool keeps : {false, true}) {
    settings_.keeps_prefixes = keeps;
    EXPECT_EQ(run_beside(), expected);
    EXPECT_GT(gave_way_, 0);
  }
}

// Long answers are admitted by what stands of them: with room for two that have been written to their end, eight begin.
TEST_P(HostGivingWay, NothingIsHeldForWhatMayCome) {
  Request asked = request(40, 1500, 2);
  asked.context = 2000;
  settings_.kv_bytes = 2 * forward_->kv_layout().sequence_bytes(1540, kMaxForwardRows);
  Engine engine(parts_, settings_);
  std::vector<RequestId> ids;
  for (TokenId first = 2; first < 10; ++first) {
    asked.prompt[0] = first;
    const Submission taken = engine.submit(asked, std::make_shared<Stream>());
    ASSERT_EQ(taken.refusal, Refusal::none);
    ids.push_back(taken.id);
  }
  for (int i = 0; i < 20; ++i) engine.step();
  EXPECT_EQ(engine.stats().running, 8);
  EXPECT_EQ(engine.stats().gave_way, 0);
  for (const RequestId id : ids) engine.cancel(id);
  while (engine.step()) {
  }
  EXPECT_STREQ(engine.integrity_problem(), "");
}

// One that gave way and waits is cancelled, or its time is over: it ends once, and what it was told stands.
TEST_P(HostGivingWay, WhoWaitsToComeBackCanBeEnded) {
  // What it has run is lost each time.
  settings_.keeps_prefixes = false;
  settings_.chunk_rows = 64;
  for (const bool cancels : {true, false}) {
    bool forced = false;
    settings_.gives_way = [&](int64_t) { return forced ? 0 : -1; };
    settings_.kv_bytes = 2 * forward_->kv_layout().sequence_bytes(400, kMaxForwardRows);
    Engine engine(parts_, settings_);
    const auto first = std::make_shared<Stream>(), second = std::make_shared<Stream>();
    engine.submit(request(300, 250, 2), first);
    Request other = request(300, 60, 7);
    if (!cancels) other.deadline = EngineClock::now() + std::chrono::milliseconds(700);
    const RequestId id = engine.submit(other, second).id;
    while (second->choices[0].tokens.size() < 5 && second->choices[0].ends.empty()) engine.step();
    // Every step: it never gets to run while this goes on.
    forced = true;
    engine.step();
    const size_t told = second->choices[0].tokens.size();
    if (cancels) engine.cancel(id);
    for (int i = 0; i < 100000 && second->choices[0].ends.empty(); ++i) engine.step();
    forced = false;
    ASSERT_EQ(second->choices[0].ends.size(), 1u);
    EXPECT_EQ(second->choices[0].ends[0], cancels ? EndReason::cancelled : EndReason::deadline);
    EXPECT_EQ(second->choices[0].output_tokens, static_cast<int32_t>(second->choices[0].tokens.size()));
    EXPECT_GE(second->choices[0].tokens.size(), told);
    engine.drain();
    while (engine.step()) {
    }
    EXPECT_STREQ(engine.integrity_problem(), "");
    EXPECT_EQ(first->choices[0].ends.size(), 1u);
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, HostGivingWay, testing::Values("dense", "ple", "qwen35"), golden_name);
INSTANTIATE_TEST_SUITE_P(Goldens, DeviceGivingWay, testing::Values("dense", "qwen35"), golden_name);

}  // namespace
}  // namespace paceline
