// Budgets that are full to the last byte: what was promised at the start is there when it is needed, whoever keeps
// what.
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "kernels/cpu_ops.h"
#include "proof/decode.h"
#include "proof/golden_engine_for_tests.h"

namespace paceline {
namespace {

class MemoryTest : public GoldenEngineTest<kernels::CpuOps> {
 protected:
  [[nodiscard]] Request request(int32_t prompt_tokens, int32_t max_tokens, TokenId first = 2) const {
    Request made;
    made.prompt = text_of(static_cast<size_t>(prompt_tokens), first);
    made.sampling.seed = 3;
    made.max_tokens = max_tokens;
    made.context = model_.config.context;
    return made;
  }

  [[nodiscard]] size_t bytes_of(const Request& request) const {
    return static_cast<size_t>(request.choices) *
           forward_->kv_layout().sequence_bytes(static_cast<int32_t>(request.prompt.size()) + request.max_tokens,
                                                kMaxForwardRows);
  }

  void expect_alone(const Texts& texts, const Request& request) {
    for (int32_t choice = 0; choice < request.choices; ++choice)
      EXPECT_EQ(texts.tokens[static_cast<size_t>(choice)],
                decode(*forward_, decode_request(request, choice), {}).tokens);
  }

  static void finish(Engine& engine) {
    while (engine.step()) {
    }
    EXPECT_STREQ(engine.integrity_problem(), "");
    EXPECT_FALSE(engine.stats().failed) << engine.stats().failure;
  }
};

// Each page of the ring is shared with the kept prefixes when the ring comes round to it.
TEST_P(MemoryTest, ARingThatWrapsInAFullBudget) {
  for (const int32_t choices : {1, 3}) {
    Request all = request(640, 20);
    all.choices = choices;
    settings_.kv_bytes = bytes_of(all);
    ASSERT_GT(640 / kPageTokens, forward_->kv_layout().ring_pages);
    Engine engine(parts_, settings_);
    for (const TokenId first : {2, 2, 7}) {
      all.prompt[0] = first;
      const auto texts = std::make_shared<Texts>();
      ASSERT_EQ(engine.submit(all, texts).refusal, Refusal::none);
      finish(engine);
      ASSERT_EQ(texts->ends.size(), static_cast<size_t>(choices));
      expect_alone(*texts, all);
    }
  }
}

// Two that read the same prompt at once, of which the first goes: what the other stands on is the other's, and a third
// gets all that the first had.
TEST_P(MemoryTest, EqualPromptsAtOnceInAFullBudget) {
  const Request brief = request(500, 1), lasting = request(500, 150), third = request(500, 1, 9);
  settings_.kv_bytes = bytes_of(brief) + bytes_of(lasting);
  // Rows for both in each step.
  settings_.chunk_rows = 100;
  Engine engine(parts_, settings_);
  const auto first = std::make_shared<Texts>(), second = std::make_shared<Texts>(), late = std::make_shared<Texts>();
  engine.submit(brief, first);
  engine.submit(lasting, second);
  while (first->ends.empty()) ASSERT_TRUE(engine.step());
  engine.submit(third, late);
  finish(engine);
  expect_alone(*first, brief);
  expect_alone(*second, lasting);
  expect_alone(*late, third);
}

// The same words written at once by several: their pages are equal, too.
TEST_P(MemoryTest, EqualTextsThatAreWrittenAtOnceInAFullBudget) {
  const Request one = request(70, 260);
  settings_.kv_bytes = 3 * bytes_of(one);
  Engine engine(parts_, settings_);
  std::vector<std::shared_ptr<Texts>> heard;
  for (int i = 0; i < 6; ++i) {
    heard.push_back(std::make_shared<Texts>());
    Request own = one;
    own.max_tokens -= 60 * (i % 3);
    engine.submit(own, heard.back());
  }
  finish(engine);
  for (const auto& texts : heard) {
    const std::vector<TokenId> all = heard[0]->tokens[0];
    ASSERT_EQ(texts->ends.size(), 1u);
    EXPECT_TRUE(std::equal(texts->tokens[0].begin(), texts->tokens[0].end(), all.begin()));
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, MemoryTest, testing::Values("dense", "ple", "qwen35"), golden_name);

}  // namespace
}  // namespace paceline
