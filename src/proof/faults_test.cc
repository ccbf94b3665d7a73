// What goes wrong below or before the engine: every request hears one end that says why, memory comes back, and whoever
// is not concerned goes on.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <thread>

#include "kernels/cpu_ops.h"
#include "model/gemma4/gemma4_forward.h"
#include "proof/decode.h"
#include "proof/device_like_ops_for_tests.h"
#include "proof/golden_engine_for_tests.h"

namespace paceline {
namespace {

constexpr const char* kFault = "the device fell off";

// Fails from some wait on, as a device does.
template <class Backend>
class Failing : public Backend {
 public:
  using Backend::Backend;
  Status wait() override { return waits++ < fails_after ? Status(Done{}) : Status(Error{kFault}); }
  std::shared_ptr<void> arena(size_t bytes) override { return has_arena ? Backend::arena(bytes) : nullptr; }
  int waits = 0, fails_after = std::numeric_limits<int>::max();
  bool has_arena = true;
};

// The ends that each choice has heard.
class Ends : public Listener {
 public:
  Heard hear(const Event& event) override {
    if (event.end != nullptr) ends[event.choice].push_back(*event.end);
    return {event.tokens.size(), false};
  }
  std::map<int32_t, std::vector<SequenceEnd>> ends;
};

template <class Backend>
class Faults : public GoldenEngineTest<Failing<Backend>> {
 protected:
  [[nodiscard]] Request request(int32_t prompt_tokens, int32_t max_tokens) const {
    Request made;
    made.prompt = text_of(static_cast<size_t>(prompt_tokens));
    made.max_tokens = max_tokens;
    made.context = this->model_.config.context;
    return made;
  }

  // Whichever wait it is that fails: with choices, in the prompt, in the step that forks, behind it.
  void expect_one_end_each() {
    for (int fails_after = 0; fails_after < 12; ++fails_after) {
      SCOPED_TRACE(testing::Message() << "fails after " << fails_after);
      Gemma4Forward forward(as_gemma4(this->model_.weights), this->ops_, Precision::bf16);
      this->parts_.forward = &forward;
      this->ops_.waits = 0;
      this->ops_.fails_after = fails_after;
      Engine engine(this->parts_, this->settings_);
      const auto many = std::make_shared<Ends>(), one = std::make_shared<Ends>(), late = std::make_shared<Ends>();
      Request four = request(600, 40);
      four.choices = 4;
      ASSERT_EQ(engine.submit(four, many).refusal, Refusal::none);
      ASSERT_EQ(engine.submit(request(10, 40), one).refusal, Refusal::none);
      while (engine.step()) {
      }
      ASSERT_TRUE(engine.stats().failed);
      EXPECT_EQ(engine.stats().failure, kFault);
      EXPECT_EQ(engine.stats().running_bytes, 0u);
      EXPECT_EQ(engine.stats().running, 0);
      EXPECT_STREQ(engine.integrity_problem(), "");
      ASSERT_EQ(many->ends.size(), 4u);
      ASSERT_EQ(one->ends.size(), 1u);
      for (const auto& listener : {many, one})
        for (const auto& [choice, ends] : listener->ends) {
          ASSERT_EQ(ends.size(), 1u) << "choice " << choice;
          EXPECT_EQ(ends[0].reason, EndReason::failed);
          EXPECT_EQ(ends[0].problem, kFault);
        }
      const Submission refused = engine.submit(request(10, 40), late);
      EXPECT_EQ(refused.refusal, Refusal::failed);
      EXPECT_EQ(refused.problem, kFault);
      EXPECT_TRUE(late->ends.empty());
    }
  }

  // A model in which one token's embedding is `value`.
  std::shared_ptr<const Gemma4Weights> with_embedding(TokenId token, float value) {
    auto changed = std::make_shared<Gemma4Weights>(*as_gemma4(this->model_.weights));
    const Matrix& from = changed->embedding;
    EXPECT_EQ(from.format, WeightFormat::bf16);
    const auto* values = static_cast<const uint16_t*>(from.values);
    const auto cols = static_cast<size_t>(from.cols);
    auto copy = std::make_shared<std::vector<uint16_t>>(values, values + static_cast<size_t>(from.rows) * cols);
    std::fill_n(copy->begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(token) * cols), cols,
                f32_to_bf16(value));
    changed->embedding.values = copy->data();
    changed->owners.push_back(copy);
    changed->placed = nullptr;
    return changed;
  }

  // Beside one whose logits are not numbers, another writes what it always writes.
  void expect_only_the_broken_ends(float value) {
    Gemma4Forward forward(with_embedding(77, value), this->ops_, Precision::bf16);
    this->parts_.forward = &forward;
    for (const int32_t choices : {1, 3}) {
      Engine engine(this->parts_, this->settings_);
      Request broken = request(90, 30), whole = request(90, 30);
      broken.prompt[40] = 77;
      broken.choices = choices;
      const auto ends = std::make_shared<Ends>();
      const auto texts = std::make_shared<Texts>();
      ASSERT_EQ(engine.submit(broken, ends).refusal, Refusal::none);
      ASSERT_EQ(engine.submit(whole, texts).refusal, Refusal::none);
      while (engine.step()) {
      }
      ASSERT_EQ(ends->ends.size(), static_cast<size_t>(choices));
      for (const auto& [choice, each] : ends->ends) {
        ASSERT_EQ(each.size(), 1u);
        EXPECT_EQ(each[0].reason, EndReason::failed);
        EXPECT_EQ(each[0].output_tokens, 0);
        EXPECT_EQ(each[0].problem, kNoChoiceProblem);
      }
      EXPECT_FALSE(engine.stats().failed);
      EXPECT_STREQ(engine.integrity_problem(), "");
      ASSERT_EQ(texts->tokens.size(), 1u);
      EXPECT_EQ(texts->tokens[0], decode(*this->forward_, decode_request(whole), {}).tokens);
      EXPECT_EQ(texts->tokens[0].size(), 30u);
      const DecodeOutcome alone = decode(forward, decode_request(broken), {});
      EXPECT_EQ(alone.end, DecodeEnd::failed);
      EXPECT_EQ(alone.problem, kNoChoiceProblem);
      EXPECT_TRUE(alone.tokens.empty());
    }
  }
};

using HostFaults = Faults<kernels::CpuOps>;
using DeviceFaults = Faults<DeviceLikeOps>;

TEST_P(HostFaults, AFaultEndsEachChoiceOnce) { expect_one_end_each(); }
TEST_P(DeviceFaults, AFaultEndsEachChoiceOnce) { expect_one_end_each(); }
TEST_P(DeviceFaults, AFaultWithDraftsEndsEachChoiceOnce) {
  use_mtp();
  settings_.fixed_depth = 3;
  expect_one_end_each();
}

TEST_P(HostFaults, LogitsThatAreNotNumbersEndTheirRequestAlone) {
  expect_only_the_broken_ends(NAN);
  expect_only_the_broken_ends(INFINITY);
}
TEST_P(DeviceFaults, LogitsThatAreNotNumbersEndTheirRequestAlone) {
  use_mtp();
  settings_.fixed_depth = 3;
  expect_only_the_broken_ends(NAN);
}

TEST_P(HostFaults, TheBareLoopSaysWhatItMet) {
  const Request asked = request(300, 40);
  const size_t whole = decode(*forward_, decode_request(asked), {}).tokens.size();
  EXPECT_EQ(whole, 40u);
  Gemma4Forward forward(as_gemma4(model_.weights), ops_, Precision::bf16);
  ops_.waits = 0;
  ops_.fails_after = 7;
  const DecodeOutcome outcome = decode(forward, decode_request(asked), {});
  EXPECT_EQ(outcome.end, DecodeEnd::failed);
  EXPECT_EQ(outcome.problem, kFault);
  EXPECT_LT(outcome.tokens.size(), 40u);
  DecodeRequest empty;
  empty.context = 100;
  EXPECT_EQ(decode(forward, empty, {}).end, DecodeEnd::failed);
}

// Whoever is taken on hears an end, however soon the engine is stopped.
TEST_P(HostFaults, WhoHasJustArrivedIsNotForgotten) {
  for (int i = 0; i < 200; ++i) {
    Engine engine(parts_, settings_);
    std::thread thread([&] { engine.run(); });
    if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(i * 3));
    const auto ends = std::make_shared<Ends>();
    const bool taken = engine.submit(request(2, 1), ends).refusal == Refusal::none;
    engine.stop();
    thread.join();
    ASSERT_EQ(ends->ends.size(), taken ? 1u : 0u) << i;
    EXPECT_EQ(engine.submit(request(2, 1), ends).refusal, Refusal::draining);
  }
}

// Holds on to a page of its sequence, which nobody may.
class Clinging : public SingleDrafter {
 public:
  explicit Clinging(KvCache::PageBlocks& held) : held_(held) {}
  int32_t draft(const DraftContext& context, DrafterState*, std::span<TokenId>) override {
    held_ = context.kv->page_blocks(0);
    return 0;
  }

 private:
  KvCache::PageBlocks& held_;
};

// A difference in the books of an idle engine is told, and nothing more is taken on.
TEST_P(HostFaults, MemoryThatDoesNotAddUpIsTold) {
  KvCache::PageBlocks held;
  Clinging clinging(held);
  parts_.drafter = &clinging;
  settings_.fixed_depth = 1;
  Engine engine(parts_, settings_);
  const auto ends = std::make_shared<Ends>();
  ASSERT_EQ(engine.submit(request(100, 10), ends).refusal, Refusal::none);
  while (engine.step()) {
  }
  EXPECT_EQ(ends->ends[0][0].reason, EndReason::max_tokens);
  EXPECT_TRUE(engine.stats().failed);
  EXPECT_NE(engine.stats().failure.find("blocks have owners besides the kept prefixes"), std::string::npos);
  EXPECT_EQ(engine.submit(request(100, 10), ends).refusal, Refusal::failed);
  held = {};
}

// More memory than the backend has: it is told, and nothing is taken on.
TEST_P(HostFaults, MemoryThatIsNotThereIsTold) {
  ops_.has_arena = false;
  Engine engine(parts_, settings_);
  EXPECT_TRUE(engine.stats().failed);
  EXPECT_NE(engine.stats().failure.find(std::to_string(settings_.kv_bytes)), std::string::npos);
  const Submission refused = engine.submit(request(10, 10), std::make_shared<Ends>());
  EXPECT_EQ(refused.refusal, Refusal::failed);
  EXPECT_EQ(refused.problem, engine.stats().failure);
  EXPECT_FALSE(engine.step());
}

TEST_P(HostFaults, WhatMakesNoSenseIsRefused) {
  Engine engine(parts_, settings_);
  const auto problem = [&](const std::function<void(Request&)>& change) {
    Request asked = request(100, 10);
    change(asked);
    const Submission submission = engine.submit(asked, std::make_shared<Ends>());
    EXPECT_EQ(submission.refusal, Refusal::invalid);
    return submission.problem;
  };
  EXPECT_EQ(problem([](Request& r) { r.prompt.clear(); }), "the prompt has no tokens");
  EXPECT_EQ(problem([](Request& r) { r.context = 100; }),
            "the prompt has 100 tokens; the context of 100 must hold it and at least one more");
  EXPECT_NE(problem([](Request& r) { r.context = -1; }), "");
  EXPECT_NE(problem([](Request& r) { r.prompt[50] = -1; }).find("token -1"), std::string::npos);
  EXPECT_NE(problem([&](Request& r) { r.prompt[50] = model_.config.vocab; }), "");
  EXPECT_EQ(problem([](Request& r) { r.max_tokens = 0; }), "max_tokens must be 1 or more, not 0");
  EXPECT_EQ(problem([](Request& r) { r.choices = 0; }), "the number of choices must be 1 or more, not 0");
  EXPECT_NE(problem([](Request& r) { r.max_depth = -1; }), "");
  EXPECT_NE(problem([](Request& r) { r.top_logprobs = -1; }), "");
  EXPECT_EQ(problem([](Request& r) { r.stop_ids = {5, 3}; }), "the stop ids are not sorted");
  EXPECT_NE(problem([](Request& r) { r.sampling.temperature = NAN; }), "");
  EXPECT_NE(problem([](Request& r) { r.sampling.logit_bias = {{-4, 1.0f}}; }), "");
  EXPECT_EQ(problem([](Request& r) {
              r.pictures.push_back({3, 4, nullptr, {}});
            }),
            "the prompt holds pictures, and this engine takes none");
  // More than there are numbers for is only too much.
  Request endless = request(100, std::numeric_limits<int32_t>::max());
  endless.context = endless.choices = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(engine.submit(endless, std::make_shared<Ends>()).refusal, Refusal::never_fits);
  EXPECT_FALSE(engine.step());
}

INSTANTIATE_TEST_SUITE_P(Goldens, HostFaults, testing::Values("dense"),
                         [](const auto& param) { return std::string(param.param); });
INSTANTIATE_TEST_SUITE_P(Goldens, DeviceFaults, testing::Values("dense"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace paceline
