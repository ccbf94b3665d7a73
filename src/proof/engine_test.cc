// Many requests at once: each gets what it would get alone, memory comes back, and what is shared has the same bits.
#include "engine/engine.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "kernels/cpu_ops.h"
#include "proof/decode.h"
#include "proof/golden_engine_for_tests.h"
#include "proof/load_identity.h"
#include "proof/long_form_for_tests.h"
#include "speculate/ngram/ngram_drafter.h"

namespace paceline {
namespace {

class EngineTest : public GoldenEngineTest<kernels::CpuOps> {
 protected:
  [[nodiscard]] Request request(int32_t prompt_tokens, int32_t max_tokens) const {
    Request made;
    made.prompt = text_of(static_cast<size_t>(prompt_tokens));
    made.sampling.seed = 3;
    made.max_tokens = max_tokens;
    made.context = model_.config.context;
    return made;
  }

  std::vector<TokenId> alone(const Request& request, int32_t choice = 0) {
    return decode(*forward_, decode_request(request, choice), {}).tokens;
  }

  static void finish(Engine& engine) {
    while (engine.step()) {
    }
    EXPECT_STREQ(engine.integrity_problem(), "");
  }

  void expect_identity(int32_t requests) {
    LoadPlan plan;
    plan.text = text_of(700);
    plan.requests = requests;
    plan.at_once = 64;
    plan.longest_prompt = 330;
    // Whatever the sampled texts hold often enough to end some of them early.
    plan.stop_ids = {5, 77, 130};
    const LoadResult result = check_load(parts_, settings_, plan);
    EXPECT_EQ(result.difference, "");
    EXPECT_EQ(result.requests, requests);
    EXPECT_GT(result.cancelled, 0);
    EXPECT_GT(result.most_running, 1);
    if (settings_.keeps_prefixes) {
      EXPECT_GT(result.prefix_hits, 0);
    }
    if (settings_.fixed_depth.value_or(0) > 0) {
      EXPECT_GT(result.counters.drafted, 0);
    }
  }

  [[nodiscard]] static int32_t share(int32_t usual, int32_t whole) { return long_form() ? whole : usual; }
};

TEST_P(EngineTest, UnderLoadEachGetsWhatItGetsAlone) { expect_identity(share(32, 2000)); }

TEST_P(EngineTest, UnderLoadWithDraftsByThePolicy) {
  use_mtp();
  expect_identity(share(32, 2000));
}

// What a drafter keeps is no reason to refuse what plain decoding would answer.
TEST_P(EngineTest, WhatFitsOnlyWithoutTheDrafterGoesWithoutIt) {
  if (!has_dflash()) GTEST_SKIP() << "this model has no such drafter";
  use_dflash();
  settings_.fixed_depth = 3;
  Request asked = request(150, 40);
  asked.choices = 2;
  const KvLayout& layout = forward_->kv_layout();
  settings_.kv_bytes = 2 * layout.sequence_bytes(190, kMaxForwardRows, false);
  ASSERT_LT(settings_.kv_bytes, 2 * layout.sequence_bytes(190, kMaxForwardRows));
  Engine engine(parts_, settings_);
  // One that fits drafts, beside it and behind it.
  std::vector<Request> all{request(70, 30), asked, request(71, 30)};
  std::vector<std::shared_ptr<Texts>> heard;
  for (const Request& one : all) {
    heard.push_back(std::make_shared<Texts>());
    ASSERT_EQ(engine.submit(one, heard.back()).refusal, Refusal::none);
  }
  finish(engine);
  for (size_t i = 0; i < all.size(); ++i)
    for (int32_t choice = 0; choice < all[i].choices; ++choice)
      EXPECT_EQ(heard[i]->tokens[static_cast<size_t>(choice)], alone(all[i], choice)) << i << ", choice " << choice;
  EXPECT_GT(heard[0]->ends[0].counters.drafted, 0);
  for (const SequenceEnd& end : heard[1]->ends) EXPECT_EQ(end.counters.drafted, 0);
  EXPECT_GT(heard[2]->ends[0].counters.drafted, 0);
  // A token more, and it says what it would need without one.
  asked.max_tokens = 43;
  const Submission refused = engine.submit(asked, std::make_shared<Texts>());
  EXPECT_EQ(refused.refusal, Refusal::never_fits);
  EXPECT_EQ(refused.needs_bytes, 2 * layout.sequence_bytes(193, kMaxForwardRows, false));
}

TEST_P(EngineTest, UnderLoadWithManyDrafts) {
  use_mtp();
  settings_.fixed_depth = 5;
  expect_identity(share(32, 2000));
}

TEST_P(EngineTest, UnderLoadWithBlocksByThePolicy) {
  if (!has_dflash()) GTEST_SKIP() << "this model has no such drafter";
  use_dflash();
  expect_identity(share(32, 2000));
}

TEST_P(EngineTest, UnderLoadWithManyBlocks) {
  if (!has_dflash()) GTEST_SKIP() << "this model has no such drafter";
  use_dflash();
  settings_.fixed_depth = 9;
  expect_identity(share(32, 2000));
}

TEST_P(EngineTest, UnderLoadWithAllDraftersByThePolicy) {
  use_all();
  expect_identity(share(32, 2000));
}

// Few rows, few sequences, little memory: everything has to take turns, and kept pages have to go.
TEST_P(EngineTest, UnderLoadWithLittleOfEverything) {
  NgramDrafter ngrams;
  parts_.drafter = &ngrams;
  settings_.fixed_depth = 3;
  settings_.batch_rows = 11;
  settings_.chunk_rows = 50;
  settings_.chunk_rows_beside = 7;
  settings_.most_running = 13;
  settings_.kv_bytes = 6 * forward_->kv_layout().sequence_bytes(400, kMaxForwardRows);
  expect_identity(share(32, 2000));
}

// Chunks of all sizes beside those who write, from several prompts at once, with drafts in the same steps: as a bound
// on time has it, where every step is thought to take another one.
TEST_P(EngineTest, UnderLoadWithinABoundOnTime) {
  use_all();
  settings_.latency_ms = 10.0f;
  settings_.step_ms = [](int32_t rows) { return 0.02 * rows + rows % 13; };
  expect_identity(share(32, 2000));
}

TEST_P(EngineTest, UnderLoadWithinAShortBoundOnTime) {
  use_mtp();
  settings_.fixed_depth = 4;
  settings_.latency_ms = 5.0f;
  settings_.step_ms = [](int32_t rows) { return 0.25 * rows; };
  settings_.batch_rows = 24;
  expect_identity(share(32, 2000));
}

TEST_P(EngineTest, UnderLoadWithinABoundByWhatStepsTake) {
  use_mtp();
  settings_.latency_ms = 3.0f;
  expect_identity(share(32, 2000));
}

// A short prompt leaves most of the bound to the drafts of those who write beside it.
TEST_P(EngineTest, DraftsBesidePromptsTakeWhatTheBoundLeaves) {
  if (!std::filesystem::exists(folder("assistant"))) GTEST_SKIP() << "this model has no such drafter";
  use_mtp();
  settings_.fixed_depth = 4;
  settings_.keeps_prefixes = false;
  settings_.latency_ms = 10.0f;
  settings_.step_ms = [](int32_t rows) { return 0.25 * rows; };  // 40 rows
  Engine engine(parts_, settings_);
  const auto writer = std::make_shared<Texts>();
  const Request text = request(5, 60);
  (void)engine.submit(text, writer);
  while (writer->ends.empty()) {
    (void)engine.submit(request(16, 1), std::make_shared<Texts>());
    ASSERT_TRUE(engine.step());
  }
  finish(engine);
  EXPECT_EQ(writer->tokens[0], alone(text));
  const SpeculationCounters& counters = writer->ends[0].counters;
  EXPECT_GT(static_cast<double>(counters.drafted), 3.2 * static_cast<double>(counters.rounds));
}

TEST_P(EngineTest, ShortPromptsDoNotWaitForLongOnes) {
  settings_.latency_ms = 8.0f;
  settings_.step_ms = [](int32_t rows) { return 0.1 * rows; };
  settings_.keeps_prefixes = false;
  Engine engine(parts_, settings_);
  const auto writer = std::make_shared<Texts>(), last = std::make_shared<Texts>();
  (void)engine.submit(request(2, 300), writer);
  while (writer->tokens.empty()) ASSERT_TRUE(engine.step());
  for (int i = 0; i < 4; ++i) {
    Request other = request(600, 2);
    other.prompt[1] += i;
    (void)engine.submit(other, std::make_shared<Texts>());
  }
  const Request small = request(15, 4);
  (void)engine.submit(small, last);
  int steps = 0;
  for (; last->tokens.empty(); ++steps) ASSERT_TRUE(engine.step());
  EXPECT_LE(steps, 2) << "2,400 tokens came before it, 80 at a time";
  const size_t written = writer->tokens[0].size();
  EXPECT_GE(written, 2U) << "and nobody who writes waits";
  finish(engine);
  EXPECT_EQ(last->tokens[0], alone(small));
}

TEST_P(EngineTest, ChoicesShareThePrompt) {
  use_mtp();
  Engine engine(parts_, settings_);
  Request many = request(150, 30);
  many.choices = 4;
  const auto texts = std::make_shared<Texts>();
  EXPECT_EQ(engine.submit(many, texts).refusal, Refusal::none);
  finish(engine);
  ASSERT_EQ(texts->tokens.size(), 4u);
  EXPECT_EQ(texts->ends.size(), 4u);
  for (int32_t choice = 0; choice < 4; ++choice)
    EXPECT_EQ(texts->tokens[static_cast<size_t>(choice)], alone(many, choice)) << choice;
  EXPECT_EQ(engine.stats().prompt_tokens, 150);
  EXPECT_NE(texts->tokens[0], texts->tokens[1]);
}

// Of a long prompt the choices share every page but the last, which each goes on writing, whether pages are kept for
// others or not.
TEST_P(EngineTest, ChoicesShareThePromptsPages) {
  const KvLayout& layout = forward_->kv_layout();
  size_t page_bytes = 0;
  for (const StateKind kind : kStateKinds) page_bytes += layout.block_bytes[kind];
  for (const bool keeps : {true, false}) {
    settings_.keeps_prefixes = keeps;
    Engine engine(parts_, settings_);
    Request many = request(1500, 10);
    const auto held_when_writing = [&](int32_t choices) {
      many.choices = choices;
      many.prompt[0] = choices;
      const auto texts = std::make_shared<Texts>();
      const int64_t before = engine.stats().prompt_tokens;
      EXPECT_EQ(engine.submit(many, texts).refusal, Refusal::none);
      while (texts->tokens.empty() || texts->tokens[0].empty()) engine.step();
      EXPECT_EQ(engine.stats().prompt_tokens - before, 1500);
      const size_t held = engine.stats().running_bytes;
      finish(engine);
      EXPECT_EQ(texts->ends.size(), static_cast<size_t>(choices));
      return held;
    };
    const size_t one = held_when_writing(1), six = held_when_writing(6);
    EXPECT_LE(six, one + 5 * page_bytes) << (keeps ? "kept" : "not kept");
  }
}

TEST_P(EngineTest, APrefixIsComputedOnce) {
  use_mtp();
  settings_.fixed_depth = 3;
  Engine engine(parts_, settings_);
  const Request first = request(400, 20);
  const auto one = std::make_shared<Texts>();
  engine.submit(first, one);
  finish(engine);
  EXPECT_EQ(one->cached, 0);
  EXPECT_EQ(one->tokens[0], alone(first));

  // What was written belongs to the beginning of the next.
  Request second = first;
  second.prompt.insert(second.prompt.end(), one->tokens[0].begin(), one->tokens[0].end());
  for (int i = 0; i < 100; ++i) second.prompt.push_back(200);
  const auto two = std::make_shared<Texts>();
  engine.submit(second, two);
  finish(engine);
  // Of the last page, too, as far as it went; a recurrent state stands at the end of whole ones.
  EXPECT_EQ(two->cached, forward_->kv_layout().is_recurrent() ? 384 : 419);
  EXPECT_EQ(two->tokens[0], alone(second));
  EXPECT_EQ(engine.stats().prompt_tokens, 400 + 520 - two->cached);

  // Another tenant's are not touched; nor is one found by who does not want it.
  Request other = second;
  other.scope = {1, 2};
  const auto three = std::make_shared<Texts>();
  engine.submit(other, three);
  finish(engine);
  EXPECT_EQ(three->cached, 0);
  EXPECT_EQ(three->tokens, two->tokens);
  other.scope = second.scope;
  other.reads_prefixes = false;
  const auto four = std::make_shared<Texts>();
  engine.submit(other, four);
  finish(engine);
  EXPECT_EQ(four->cached, 0);
  EXPECT_EQ(four->tokens, two->tokens);
}

// Eight that come at once with the same prompt: each page is run for one of them, and of the last one, which is not
// whole, everybody runs its own rows.
TEST_P(EngineTest, EqualPromptsAtOnceAreReadOnce) {
  Engine engine(parts_, settings_);
  const Request same = request(1500, 6);
  std::vector<std::shared_ptr<Texts>> heard;
  for (int i = 0; i < 8; ++i) {
    heard.push_back(std::make_shared<Texts>());
    ASSERT_EQ(engine.submit(same, heard.back()).refusal, Refusal::none);
  }
  finish(engine);
  EXPECT_EQ(engine.stats().prompt_tokens, 1500 + 7 * (1500 - 1472));
  EXPECT_EQ(engine.stats().prefix_hits, 7 * 1472);
  const std::vector<TokenId> expected = alone(same);
  for (size_t i = 0; i < heard.size(); ++i) {
    EXPECT_EQ(heard[i]->cached, i == 0 ? 0 : 1472);
    EXPECT_EQ(heard[i]->tokens[0], expected);
  }
}

// Eight that go on from within the page that another has left unfinished: what comes behind is run for one of them.
TEST_P(EngineTest, EqualPromptsAtOnceGoOnFromAnEnd) {
  Engine engine(parts_, settings_);
  const auto before = std::make_shared<Texts>();
  engine.submit(request(300, 1), before);
  finish(engine);
  Request longer = request(300, 6);
  for (int i = 0; i < 150; ++i) longer.prompt.push_back(20 + i);
  const std::vector<TokenId> expected = alone(longer);
  std::vector<std::shared_ptr<Texts>> heard;
  for (int i = 0; i < 8; ++i) {
    heard.push_back(std::make_shared<Texts>());
    ASSERT_EQ(engine.submit(longer, heard.back()).refusal, Refusal::none);
  }
  finish(engine);
  const bool is_recurrent = forward_->kv_layout().is_recurrent();
  for (size_t i = 0; i < heard.size(); ++i) {
    EXPECT_EQ(heard[i]->tokens[0], expected);
    EXPECT_TRUE(is_recurrent || heard[i]->cached == (i == 0 ? 300 : 448)) << heard[i]->cached;
  }
}

// One that has been reading for a while finds what another has read meanwhile, as far as both are alike; also beside
// some who write, with few rows for prompts.
TEST_P(EngineTest, WhatAnotherReadsMeanwhileIsNotReadAgain) {
  settings_.chunk_rows_beside = 50;
  Engine engine(parts_, settings_);
  const auto writer = std::make_shared<Texts>();
  engine.submit(request(3, 200), writer);
  for (int i = 0; i < 5; ++i) engine.step();
  const int64_t before = engine.stats().prompt_tokens;
  Request first = request(700, 4), apart = request(800, 4);
  apart.prompt[500] = 7;
  const auto one = std::make_shared<Texts>(), two = std::make_shared<Texts>();
  engine.submit(first, one);
  for (int i = 0; i < 3; ++i) engine.step();
  engine.submit(apart, two);
  finish(engine);
  // A recurrent state is not kept at every page: the rows up to the next one are run again.
  const int32_t again = forward_->kv_layout().state_step();
  EXPECT_LE(two->cached, 448);
  EXPECT_GE(two->cached, 448 - 2 * again);
  EXPECT_EQ(engine.stats().prompt_tokens - before, 700 + 800 - two->cached);
  EXPECT_EQ(one->tokens[0], alone(first));
  EXPECT_EQ(two->tokens[0], alone(apart));
}

// However many write, a prompt is read on: with eight rows a step and twelve that write, two rows are its own.
TEST_P(EngineTest, WritersDoNotHoldUpPrompts) {
  settings_.batch_rows = 8;
  Engine engine(parts_, settings_);
  const auto writers = std::make_shared<Texts>();
  for (int i = 0; i < 12; ++i) engine.submit(request(2, 2000), writers);
  for (int i = 0; i < 30; ++i) engine.step();
  const auto late = std::make_shared<Texts>();
  engine.submit(request(40, 1), late);
  for (int i = 0; i < 22; ++i) engine.step();
  EXPECT_EQ(late->ends.size(), 1u);
  EXPECT_EQ(writers->ends.size(), 0u);
}

TEST_P(EngineTest, RefusesWhatDoesNotFitAndWhatIsTooMany) {
  settings_.queue_length = 2;
  settings_.kv_bytes = forward_->kv_layout().sequence_bytes(300, kMaxForwardRows);
  Engine engine(parts_, settings_);
  const Submission large = engine.submit(request(200, 200), std::make_shared<Texts>());
  EXPECT_EQ(large.refusal, Refusal::never_fits);
  EXPECT_GT(large.needs_bytes, settings_.kv_bytes);
  const auto texts = std::make_shared<Texts>();
  EXPECT_EQ(engine.submit(request(200, 100), texts).refusal, Refusal::none);
  EXPECT_EQ(engine.submit(request(200, 100), texts).refusal, Refusal::none);
  EXPECT_EQ(engine.submit(request(200, 100), texts).refusal, Refusal::queue_full);
  engine.drain();
  EXPECT_EQ(engine.submit(request(1, 1), texts).refusal, Refusal::draining);
  finish(engine);
  // Those that were taken on before are finished all the same, one after the other.
  EXPECT_EQ(texts->ends.size(), 2u);
}

// What requests hold while they wait is bounded, too, and is given back on every way out.
TEST_P(EngineTest, RefusesWhatWouldHoldTooMuch) {
  settings_.queue_bytes = 10'000;
  Engine engine(parts_, settings_);
  const auto texts = std::make_shared<Texts>();
  Request large = request(200, 4);
  large.listener_bytes = 20'000;
  // Alone it may, however little there is.
  const Submission first = engine.submit(large, texts);
  EXPECT_EQ(first.refusal, Refusal::none);
  EXPECT_GE(engine.stats().held_bytes, 20'800u);
  EXPECT_EQ(engine.submit(request(1, 1), texts).refusal, Refusal::queue_full);
  engine.cancel(first.id);
  finish(engine);
  EXPECT_EQ(engine.stats().held_bytes, 0u);
  int taken = 0;
  while (engine.submit(request(200, 4), texts).refusal == Refusal::none) ++taken;
  EXPECT_GE(taken, 2);
  EXPECT_LE(taken, 12);
  finish(engine);
  EXPECT_EQ(engine.stats().held_bytes, 0u);
  EXPECT_EQ(engine.submit(request(200, 4), texts).refusal, Refusal::none);
  finish(engine);
}

TEST_P(EngineTest, CancellingGivesEverythingBack) {
  Engine engine(parts_, settings_);
  const auto texts = std::make_shared<Texts>();
  Request many = request(300, 300);
  many.choices = 2;
  std::vector<RequestId> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(engine.submit(many, texts).id);
  for (int i = 0; i < 4; ++i) engine.step();
  EXPECT_GT(engine.stats().running_bytes, 0u);
  for (const RequestId id : ids) engine.cancel(id);
  engine.cancel(99);
  finish(engine);
  EXPECT_EQ(engine.stats().running_bytes, 0u);
  EXPECT_EQ(engine.stats().running, 0);
  ASSERT_EQ(texts->ends.size(), 12u);
  for (const SequenceEnd& end : texts->ends) EXPECT_EQ(end.reason, EndReason::cancelled);
}

TEST_P(EngineTest, ADeadlineEndsATextAndOneThatWaits) {
  settings_.most_running = 1;
  Engine engine(parts_, settings_);
  const auto texts = std::make_shared<Texts>();
  Request late = request(10, 300);
  late.deadline = EngineClock::now() + std::chrono::hours(1);
  engine.submit(late, texts);
  late.deadline = EngineClock::now() - std::chrono::seconds(1);
  engine.submit(late, texts);
  engine.submit(request(10, 3), texts);
  finish(engine);
  ASSERT_EQ(texts->ends.size(), 3u);
  EXPECT_EQ(texts->ends[0].reason, EndReason::deadline);
  EXPECT_EQ(texts->ends[0].output_tokens, 0);
  EXPECT_EQ(texts->ends[1].reason, EndReason::max_tokens);
  EXPECT_EQ(texts->ends[1].output_tokens, 300);
}

// A device that fails after some calls: the texts end with an error, and the engine says so from then on.
class FaultyOps : public kernels::CpuOps {
 public:
  using CpuOps::CpuOps;
  Status wait() override { return calls_++ < 8 ? Status(Done{}) : Status(Error{"the device fell off"}); }

 private:
  int calls_ = 0;
};

TEST_P(EngineTest, AFaultEndsTheTextsAndNotTheProcess) {
  FaultyOps ops(**kernels::find_cpu_table(""), pool_);
  const auto forward = model_.weights->make_forward(ops, Precision::bf16);
  parts_.forward = forward.get();
  Engine engine(parts_, settings_);
  const auto texts = std::make_shared<Texts>();
  for (int i = 0; i < 3; ++i) engine.submit(request(10, 100), texts);
  finish(engine);
  ASSERT_EQ(texts->ends.size(), 3u);
  for (const SequenceEnd& end : texts->ends) {
    EXPECT_EQ(end.reason, EndReason::failed);
    EXPECT_LT(end.output_tokens, 100);
  }
  EXPECT_TRUE(engine.stats().failed);
  EXPECT_EQ(engine.submit(request(10, 100), texts).refusal, Refusal::failed);
}

INSTANTIATE_TEST_SUITE_P(Goldens, EngineTest, testing::Values("dense", "moe", "ple", "qwen35-moe"), golden_name);

}  // namespace
}  // namespace paceline
