// Soft tokens in the forward: what they replace, whom they see, and that their bits do not depend on company.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>

#include "kernels/cpu_ops.h"
#include "model/forward.h"
#include "model/gemma4/gemma4_forward.h"
#include "model/gemma4/load_gemma4.h"

namespace paceline {
namespace {

LoadedGemma4 golden_model(const char* name) {
  ThreadPool pool(1);
  return *load_gemma4(std::filesystem::path(PACELINE_SOURCE_DIR) / "tests/goldens" / name / "target", pool);
}

// Images both ways in sliding layers, both ways in all layers, and causal.
std::map<std::string, LoadedGemma4> all_models() {
  std::map<std::string, LoadedGemma4> models{{"vlm", golden_model("vlm")}, {"ple", golden_model("ple")}};
  LoadedGemma4 unified = models.at("vlm");
  auto weights = std::make_shared<Gemma4Weights>(*unified.weights);
  unified.config.both_ways_globally = weights->config.both_ways_globally = true;
  unified.weights = std::move(weights);
  models["unified"] = std::move(unified);
  return models;
}

std::vector<float> wave(int64_t count, float phase) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(2 * std::sin(phase + 0.7f * static_cast<float>(i)));
  return values;
}

std::vector<TokenId> tokens_of(int32_t count, TokenId first) {
  std::vector<TokenId> tokens;
  for (int32_t i = 0; i < count; ++i) tokens.push_back(128 + (first + 29 * i) % 200);
  return tokens;
}

struct Prompt {
  std::vector<TokenId> tokens;
  std::vector<SoftTokens> soft;
};

// Of each prompt in one call: hidden states of its rows and the logits of its last.
using States = std::vector<std::vector<float>>;

class SoftTokensTest : public testing::TestWithParam<Precision> {
 protected:
  States run(const LoadedGemma4& model, const std::vector<Prompt>& prompts, int threads = 2) {
    ThreadPool pool(threads);
    kernels::CpuOps ops(**kernels::find_cpu_table(""), pool);
    Gemma4Forward forward(model.weights, ops, GetParam());
    std::vector<KvCache> caches;
    caches.reserve(prompts.size());
    std::vector<SeqRows> seqs;
    std::vector<TokenId> tokens;
    std::vector<int32_t> last_rows;
    for (const Prompt& prompt : prompts) {
      const auto rows = static_cast<int32_t>(prompt.tokens.size());
      seqs.push_back({&caches.emplace_back(forward.kv_layout(), rows), rows, prompt.soft});
      tokens.insert(tokens.end(), prompt.tokens.begin(), prompt.tokens.end());
      last_rows.push_back(static_cast<int32_t>(tokens.size()) - 1);
    }
    const ForwardOutput output = forward.run({tokens, seqs, last_rows, {}});
    States states;
    const float* hidden = output.hidden;
    const float* logits = output.logits;
    for (const Prompt& prompt : prompts) {
      states.emplace_back(hidden, hidden + prompt.tokens.size() * static_cast<size_t>(model.config.hidden));
      hidden += states.back().size();
      states.back().insert(states.back().end(), logits, logits + model.config.vocab);
      logits += model.config.vocab;
    }
    return states;
  }
};

// Per-layer embeddings too: the id in an image's place does not matter, they take the pad token's.
TEST_P(SoftTokensTest, ThePadTokensOwnEmbeddingGivesThePadTokensBits) {
  const LoadedGemma4 model = golden_model("ple");
  ASSERT_GT(model.config.ple_width, 0);
  ASSERT_EQ(model.config.ids.pad, 0);
  Prompt plain{tokens_of(40, 3), {}};
  std::fill_n(plain.tokens.begin() + 10, 20, 0);

  ThreadPool pool(1);
  kernels::CpuOps ops(**kernels::find_cpu_table(""), pool);
  Gemma4Forward forward(model.weights, ops, GetParam());
  KvCache kv(forward.kv_layout(), 40);
  const SeqRows seq{&kv, 40};
  const int32_t first_input = 0;
  const ForwardOutput output = forward.run({plain.tokens, {&seq, 1}, {}, {&first_input, 1}});
  const std::vector<float> pads(output.taps + 10 * model.config.hidden, output.taps + 30 * model.config.hidden);

  Prompt soft{tokens_of(40, 3), {{10, 20, pads.data()}}};
  EXPECT_EQ(run(model, {soft}), run(model, {plain}));
  soft.soft.clear();
  EXPECT_NE(run(model, {soft}), run(model, {plain}));
}

TEST_P(SoftTokensTest, AnImageSeesItselfBothWaysOnlyWhereTheConfigSaysSo) {
  for (const auto& [name, model] : all_models()) {
    const auto hidden = static_cast<size_t>(model.config.hidden);
    std::vector<float> image = wave(50 * model.config.hidden, 0.1f);
    const Prompt prompt{tokens_of(70, 9), {{8, 50, image.data()}}};
    const States before = run(model, {prompt});
    image.back() += 1;
    const States after = run(model, {prompt});
    const auto same = [&](size_t row) {
      return std::equal(before[0].begin() + row * hidden, before[0].begin() + (row + 1) * hidden,
                        after[0].begin() + row * hidden);
    };
    EXPECT_TRUE(same(7)) << name;
    EXPECT_EQ(same(8), !model.config.images_see_both_ways) << name;
    EXPECT_FALSE(same(57)) << name;
    EXPECT_FALSE(same(58)) << name;
  }
}

TEST_P(SoftTokensTest, GlobalLayersAreCausalUnlessTheConfigSaysOtherwise) {
  const auto models = all_models();
  const LoadedGemma4 &sliding = models.at("vlm"), &all = models.at("unified");
  const std::vector<float> image = wave(50 * sliding.config.hidden, 0.1f);
  Prompt prompt{tokens_of(70, 9), {{8, 50, image.data()}}};
  EXPECT_NE(run(sliding, {prompt}), run(all, {prompt}));
  prompt.soft.clear();
  EXPECT_EQ(run(sliding, {prompt}), run(all, {prompt}));
}

TEST_P(SoftTokensTest, CompanyAndThreadsChangeNoBit) {
  for (const auto& [name, model] : all_models()) {
    const std::vector<float> first = wave(60 * model.config.hidden, 0.4f),
                             second = wave(21 * model.config.hidden, 1.9f);
    const Prompt one{tokens_of(95, 1), {{5, 60, first.data()}, {67, 21, second.data()}}};
    const Prompt other{tokens_of(31, 50), {{0, 21, second.data()}}};
    const Prompt text{tokens_of(18, 77), {}};
    const States one_alone = run(model, {one}, 1), other_alone = run(model, {other}, 1),
                 text_alone = run(model, {text}, 1);
    for (const int threads : {1, 2, 4}) {
      EXPECT_EQ(run(model, {one}, threads), one_alone) << name << ", threads " << threads;
      const States together = run(model, {text, one, other}, threads);
      EXPECT_EQ(together[0], text_alone[0]) << name << ", threads " << threads;
      EXPECT_EQ(together[1], one_alone[0]) << name << ", threads " << threads;
      EXPECT_EQ(together[2], other_alone[0]) << name << ", threads " << threads;
    }
  }
}

// Chunks end anywhere but inside an image; where images are causal, there too.
TEST_P(SoftTokensTest, ChunksChangeNoBit) {
  for (const auto& [name, model] : all_models()) {
    const int32_t hidden = model.config.hidden;
    const std::vector<float> image = wave(60 * hidden, 0.4f);
    const Prompt prompt{tokens_of(95, 1), {{5, 60, image.data()}}};
    std::vector<std::vector<int32_t>> cuts{{5, 65, 95}, {3, 70, 95}, {65, 66, 95}};
    if (!model.config.images_see_both_ways) cuts.push_back({7, 8, 40, 95});
    const States whole = run(model, {prompt});
    ThreadPool pool(2);
    kernels::CpuOps ops(**kernels::find_cpu_table(""), pool);
    Gemma4Forward forward(model.weights, ops, GetParam());
    for (const std::vector<int32_t>& ends : cuts) {
      KvCache kv(forward.kv_layout(), 95);
      std::vector<float> states;
      for (const int32_t end : ends) {
        const int32_t begin = kv.length();
        const SeqRows seq{&kv, end - begin, prompt.soft};
        const int32_t last = seq.count - 1;
        const std::span<const TokenId> tokens = std::span(prompt.tokens).subspan(begin, seq.count);
        const ForwardOutput output = forward.run({tokens, {&seq, 1}, {&last, 1}, {}});
        states.insert(states.end(), output.hidden, output.hidden + static_cast<int64_t>(seq.count) * hidden);
        if (end == 95) states.insert(states.end(), output.logits, output.logits + model.config.vocab);
      }
      EXPECT_EQ(states, whole[0]) << name << ", first cut at " << ends[0];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SoftTokensTest, testing::Values(Precision::f32, Precision::bf16),
                         [](const auto& run) { return run.param == Precision::f32 ? "f32" : "bf16"; });

}  // namespace
}  // namespace paceline
