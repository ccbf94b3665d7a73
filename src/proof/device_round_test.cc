// Where the backend drafts and chooses: the same texts as everywhere.
#include "engine/device_round.h"

#include <gtest/gtest.h>

#include "proof/decode.h"
#include "proof/device_like_ops_for_tests.h"
#include "proof/golden_engine_for_tests.h"
#include "proof/load_identity.h"
#include "proof/long_form_for_tests.h"
#include "speculate/ngram/ngram_drafter.h"

namespace paceline {
namespace {

class DeviceRoundTest : public GoldenEngineTest<DeviceLikeOps> {
 protected:
  static std::vector<TokenId> text_of(int32_t tokens) {
    std::vector<TokenId> text{2};
    for (int32_t i = 1; i < tokens; ++i) text.push_back(128 + i * 37 % 120);
    return text;
  }

  LoadResult expect_identity() {
    LoadPlan plan;
    plan.text = text_of(500);
    plan.requests = long_form() ? 200 : 20;
    plan.at_once = 16;
    plan.longest_prompt = 200;
    plan.stop_ids = {5, 77, 130};
    LoadResult result = check_load(parts_, settings_, plan);
    EXPECT_EQ(result.difference, "");
    EXPECT_EQ(result.requests, plan.requests);
    EXPECT_GT(ops_.rounds(), 0);
    return result;
  }
};

TEST_P(DeviceRoundTest, WithoutDrafts) { expect_identity(); }

TEST_P(DeviceRoundTest, DraftsThatOnlyTheBackendKnows) {
  use_mtp();
  settings_.fixed_depth = 4;
  EXPECT_GT(expect_identity().counters.drafted, 0);
}

TEST_P(DeviceRoundTest, DraftsByThePolicy) {
  use_mtp();
  expect_identity();
}

TEST_P(DeviceRoundTest, BlocksThatOnlyTheBackendKnows) {
  if (!has_dflash()) GTEST_SKIP() << "no block drafter";
  use_dflash();
  settings_.fixed_depth = 6;
  EXPECT_GT(expect_identity().counters.accepted, 0);
}

TEST_P(DeviceRoundTest, ChunksWithinABoundOnTime) {
  use_mtp();
  settings_.latency_ms = 10.0f;
  settings_.step_ms = [](int32_t rows) { return 0.02 * rows + rows % 13; };
  expect_identity();
}

// What a step has to say is said while the next one runs: whoever wants no more by then hears nothing of that one.
TEST_P(DeviceRoundTest, WhoWantsNoMoreHearsNoMore) {
  class Leaves : public Texts {
   public:
    explicit Leaves(size_t most) : most_(most) {}
    Heard hear(const Event& event) override {
      EXPECT_TRUE(ends.empty()) << "something came behind the end";
      const size_t had = tokens.empty() ? 0 : tokens[0].size();
      (void)Texts::hear(event);
      if (event.tokens.empty()) return {};
      const size_t stand = std::min(event.tokens.size(), most_ - had);
      tokens[0].resize(had + stand);
      return {stand, tokens[0].size() == most_};
    }

   private:
    size_t most_;
  };
  use_mtp();
  settings_.fixed_depth = 3;
  Engine engine(parts_, settings_);
  Request request;
  request.prompt = text_of(40);
  request.sampling.seed = 3;
  request.max_tokens = 40;
  request.context = model_.config.context;
  std::vector<std::shared_ptr<Leaves>> all;
  for (size_t most = 1; most <= 12; ++most) {
    all.push_back(std::make_shared<Leaves>(most));
    (void)engine.submit(request, all.back());
  }
  const auto whole = std::make_shared<Texts>();
  (void)engine.submit(request, whole);
  while (engine.step()) continue;
  EXPECT_STREQ(engine.integrity_problem(), "");
  ASSERT_EQ(whole->ends.size(), 1U);
  EXPECT_EQ(whole->ends[0].reason, EndReason::max_tokens);
  EXPECT_EQ(whole->ends[0].counters.emitted, 40);
  for (size_t i = 0; i < all.size(); ++i) {
    const size_t most = i + 1;
    ASSERT_EQ(all[i]->ends.size(), 1U) << most;
    EXPECT_EQ(all[i]->ends[0].reason, EndReason::listener) << most;
    EXPECT_EQ(all[i]->ends[0].output_tokens, static_cast<int32_t>(most));
    EXPECT_EQ(all[i]->ends[0].counters.emitted, static_cast<int64_t>(most));
    const auto begin = whole->tokens[0].begin();
    EXPECT_EQ(all[i]->tokens[0], std::vector<TokenId>(begin, begin + static_cast<std::ptrdiff_t>(most)));
  }
}

TEST_P(DeviceRoundTest, DraftsOfTheHost) {
  NgramDrafter ngrams;
  parts_.drafter = &ngrams;
  settings_.fixed_depth = 3;
  expect_identity();
}

// Even ids behind even many tokens, odd ones behind odd many.
struct Alternating : TokenConstraint, ConstraintCursor {
  std::vector<uint64_t> words;
  std::span<const uint64_t> allowed(std::span<const TokenId> generated) override {
    words.assign(16, generated.size() % 2 == 0 ? 0x5555555555555555u : 0xaaaaaaaaaaaaaaaau);
    return words;
  }
  [[nodiscard]] std::unique_ptr<ConstraintCursor> start() const override { return std::make_unique<Alternating>(); }
};

class Hearing : public Listener {
 public:
  Heard hear(const Event& event) override {
    for (const NewToken& token : event.tokens) {
      tokens.push_back(token.id);
      logprobs.push_back(token.logprobs.chosen);
    }
    return {event.tokens.size(), false};
  }
  std::vector<TokenId> tokens;
  std::vector<float> logprobs;
};

// The host says what is allowed behind every draft, and reads the logits of what was chosen.
TEST_P(DeviceRoundTest, MasksAndLogprobs) {
  use_mtp();
  Request request;
  request.prompt = text_of(30);
  request.sampling.seed = 5;
  request.sampling.top_k = 40;
  request.sampling.constraint = std::make_shared<Alternating>();
  request.max_tokens = 60;
  request.context = model_.config.context;
  request.top_logprobs = 2;
  std::vector<float> plain;
  for (const int32_t depth : {0, 1, 6}) {
    settings_.fixed_depth = depth;
    Engine engine(parts_, settings_);
    const auto heard = std::make_shared<Hearing>();
    engine.submit(request, heard);
    while (engine.step()) {
    }
    EXPECT_EQ(heard->tokens, decode(*forward_, decode_request(request, 0), {}).tokens) << "depth " << depth;
    ASSERT_EQ(heard->tokens.size(), 60u);
    for (size_t i = 0; i < heard->tokens.size(); ++i) EXPECT_EQ(heard->tokens[i] % 2, static_cast<TokenId>(i % 2));
    if (depth == 0) plain = heard->logprobs;
    EXPECT_EQ(heard->logprobs, plain);
    EXPECT_LT(plain[0], 0.0f);
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, DeviceRoundTest,
                         testing::Values("dense", "moe", "ple", "qwen3", "qwen35", "qwen35-moe"), golden_name);

}  // namespace
}  // namespace paceline
