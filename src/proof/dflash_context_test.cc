// What a block drafter remembers of a text has no holes, however the text came to stand: what it proposes from then on
// is what it proposes where the text was run alone, in one piece. Proposals are told by how many of them held.
#include <gtest/gtest.h>

#include "kernels/cpu_ops.h"
#include "proof/decode.h"
#include "proof/golden_engine_for_tests.h"

namespace paceline {
namespace {

class DflashContext : public GoldenEngineTest<kernels::CpuOps> {
 protected:
  DflashContext() {
    use_dflash();
    settings_.fixed_depth = kDepth;
  }

  [[nodiscard]] Request request(size_t prompt_tokens, int32_t max_tokens) const {
    Request made;
    made.prompt = text_of(prompt_tokens);
    made.sampling.temperature = 0;
    made.max_tokens = max_tokens;
    made.context = model_.config.context;
    return made;
  }

  // By the bare loop, one chunk after the other.
  DecodeOutcome alone(const Request& request, int32_t choice = 0) {
    FixedDepth fixed(kDepth);
    return decode(*forward_, decode_request(request, choice), {}, {dflash_.get(), &fixed});
  }

  static void finish(Engine& engine) {
    while (engine.step()) {
    }
    EXPECT_STREQ(engine.integrity_problem(), "");
  }

  static void expect_same(const Texts& texts, const DecodeOutcome& expected, size_t choice = 0) {
    ASSERT_EQ(texts.ends.size(), texts.tokens.size());
    EXPECT_EQ(texts.tokens[choice], expected.tokens);
    EXPECT_EQ(texts.ends[choice].counters.accepted_at, expected.counters.accepted_at);
    EXPECT_EQ(texts.ends[choice].counters.drafted_at, expected.counters.drafted_at);
  }

  static constexpr int32_t kDepth = 7;
};

TEST_P(DflashContext, ChunksAndDepthsLeaveNoHoles) {
  const Request asked = request(200, 80);
  const DecodeOutcome expected = alone(asked);
  EXPECT_GT(expected.counters.accepted, 5);
  for (const int32_t chunk : {1, 7, 64, 256}) {
    settings_.chunk_rows = chunk;
    Engine engine(parts_, settings_);
    const auto texts = std::make_shared<Texts>();
    engine.submit(asked, texts);
    finish(engine);
    expect_same(*texts, expected);
  }
}

// Rows that come one by one while nobody asks wait for each other, as many as the units take that their sequence has;
// what is proposed then is what it would have been.
TEST_P(DflashContext, RowsThatWaitedAreThereWhenDraftsAreAsked) {
  const std::vector<TokenId> text = text_of(150);
  const auto proposed = [&](int32_t one_by_one, bool writes, size_t unit_bytes = 4096, size_t units = 0) {
    KvCache kv(forward_->kv_layout(), 200);
    const auto state = dflash_->start();
    std::vector<std::byte> memory(units * unit_bytes);
    std::vector<std::byte*> places;
    for (size_t i = units; i-- > 0;) places.push_back(memory.data() + i * unit_bytes);
    state->lie_in(places, unit_bytes);
    const auto run = [&](int32_t rows) {
      const SeqRows seq{&kv, rows};
      ForwardInput input;
      input.tokens = std::span(text).subspan(static_cast<size_t>(kv.length()), static_cast<size_t>(rows));
      input.seqs = {&seq, 1};
      input.tap_layers = dflash_->tap_layers();
      const ForwardOutput output = forward_->run(input);
      const CommittedRows stand{state.get(), &kv, kv.length(), 0, rows, writes};
      dflash_->committed({&stand, 1}, {output.backend_taps, rows});
    };
    run(149 - one_by_one);
    int32_t most_waiting = 0;
    for (int32_t i = 0; i < one_by_one; ++i) {
      run(1);
      most_waiting = std::max(most_waiting, state->waiting());
    }
    EXPECT_EQ(most_waiting > 0, writes && one_by_one > 0 && units > 0);
    EXPECT_TRUE(kv.reserve(dflash_->block_rows()));
    std::vector<TokenId> drafts(kDepth);
    DraftAsk ask{{text, &kv, nullptr}, state.get(), drafts};
    dflash_->propose({&ask, 1});
    EXPECT_EQ(ask.drafted, kDepth);
    return drafts;
  };
  const std::vector<TokenId> expected = proposed(0, false);
  const size_t unit = forward_->kv_layout().blocks.unit_bytes, units = dflash_->state_bytes(200) / unit;
  EXPECT_GT(units, 0u);
  for (const int32_t one_by_one : {1, 15, 16, 17, 40, 100}) {
    EXPECT_EQ(proposed(one_by_one, true, unit, units), expected);
    EXPECT_EQ(proposed(one_by_one, true, 4096, 5), expected);
    EXPECT_EQ(proposed(one_by_one, true), expected);
  }
}

// What waits is of the account that keys and values are of, and is given back.
TEST_P(DflashContext, RowsThatWaitAreAccountedFor) {
  settings_.fixed_depth = 0;
  const Request asked = request(200, 80);
  const KvLayout& layout = forward_->kv_layout();
  const size_t state = dflash_->state_bytes(200), unit = layout.blocks.unit_bytes;
  EXPECT_EQ(state % unit, 0u);
  settings_.kv_bytes = layout.sequence_bytes(280, kMaxForwardRows) + state;
  Engine engine(parts_, settings_);
  const auto texts = std::make_shared<Texts>();
  ASSERT_EQ(engine.submit(asked, texts).refusal, Refusal::none);
  engine.step();
  EXPECT_EQ(engine.stats().running_bytes, layout.sequence_bytes(200, kMaxForwardRows) + state);
  finish(engine);
  EXPECT_EQ(engine.stats().running_bytes, 0u);
  EXPECT_EQ(texts->tokens[0], decode(*forward_, decode_request(asked, 0), {}, {}).tokens);
}

TEST_P(DflashContext, APrefixBringsTheDraftersPartAlong) {
  const Request asked = request(300, 60);
  const DecodeOutcome expected = alone(asked);
  Engine engine(parts_, settings_);
  for (int round = 0; round < 3; ++round) {
    const auto texts = std::make_shared<Texts>();
    engine.submit(asked, texts);
    finish(engine);
    expect_same(*texts, expected);
    EXPECT_EQ(texts->cached, round == 0 ? 0 : 299);
  }
}

TEST_P(DflashContext, SoDoWrittenPages) {
  // What was written, and read again as a prompt, was partly told to the drafter as drafts that held.
  Request first = request(100, 120);
  Engine engine(parts_, settings_);
  const auto texts = std::make_shared<Texts>();
  engine.submit(first, texts);
  finish(engine);
  Request second = request(0, 40);
  second.prompt = first.prompt;
  second.prompt.insert(second.prompt.end(), texts->tokens[0].begin(), texts->tokens[0].end());
  const DecodeOutcome expected = alone(second);
  const auto more = std::make_shared<Texts>();
  engine.submit(second, more);
  finish(engine);
  EXPECT_GT(more->cached, 128);
  expect_same(*more, expected);
}

TEST_P(DflashContext, ChoicesThatPartHaveAllOfIt) {
  Request asked = request(150, 50);
  asked.choices = 3;
  asked.sampling.temperature = 0.8f;
  asked.sampling.seed = 5;
  settings_.chunk_rows = 40;
  Engine engine(parts_, settings_);
  const auto texts = std::make_shared<Texts>();
  engine.submit(asked, texts);
  finish(engine);
  ASSERT_EQ(texts->tokens.size(), 3u);
  // Their ends come in any order: counted together.
  std::array<int64_t, kMaxDraftTokens> accepted{}, expected{};
  for (int32_t choice = 0; choice < 3; ++choice) {
    const DecodeOutcome one = alone(asked, choice);
    EXPECT_EQ(texts->tokens[static_cast<size_t>(choice)], one.tokens);
    for (size_t i = 0; i < accepted.size(); ++i) {
      accepted[i] += texts->ends[static_cast<size_t>(choice)].counters.accepted_at[i];
      expected[i] += one.counters.accepted_at[i];
    }
  }
  EXPECT_EQ(accepted, expected);
}

TEST_P(DflashContext, WhoGaveWayHasItAgain) {
  const Request asked = request(130, 60);
  const DecodeOutcome expected = alone(asked);
  for (const bool keeps : {true, false}) {
    settings_.keeps_prefixes = keeps;
    settings_.gives_way = [](int64_t step) { return step == 5 ? 0 : -1; };
    Engine engine(parts_, settings_);
    const auto texts = std::make_shared<Texts>();
    engine.submit(asked, texts);
    finish(engine);
    EXPECT_EQ(engine.stats().gave_way, 1);
    EXPECT_EQ(texts->tokens[0], expected.tokens);
    // The round that reads again has no drafts; all others are what they were.
    EXPECT_NEAR(static_cast<double>(texts->ends[0].counters.accepted), static_cast<double>(expected.counters.accepted),
                2 * kDepth);
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, DflashContext, testing::Values("dense", "moe"));

}  // namespace
}  // namespace paceline
