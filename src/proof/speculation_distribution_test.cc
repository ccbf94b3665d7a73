// Texts drawn with speculation follow the model's own distribution: counts of whole short texts against their exact
// probabilities, every text of a small alphabet enumerated.
#include <gtest/gtest.h>

#include <array>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <map>
#include <numeric>

#include "base/philox.h"
#include "kernels/cpu_ops.h"
#include "model/gemma4/gemma4_forward.h"
#include "model/gemma4/synthetic.h"
#include "model/gemma4/tiny_config.h"
#include "proof/decode.h"

namespace paceline {
namespace {

constexpr int32_t kVocab = 4;
constexpr int32_t kLength = 3;
constexpr int kDrawn = 100'000;
constexpr float kTemperature = 0.8f;

using Text = std::vector<TokenId>;
using Shares = std::array<double, kVocab>;

// Drafts by chance: a fourth of them hold, and more of those that are likely.
class DiceDrafter : public SingleDrafter {
 public:
  int32_t draft(const DraftContext&, DrafterState*, std::span<TokenId> out) override {
    for (TokenId& draft : out) draft = static_cast<TokenId>(random_block(5, asked_++, 0, 0)[0] % kVocab);
    return static_cast<int32_t>(out.size());
  }

 private:
  uint64_t asked_ = 0;
};

Gemma4Config tiny() {
  Gemma4Config config = tiny_config("dense", 16);
  config.vocab = kVocab;
  config.hidden = 32;
  config.heads = 2;
  config.layers.clear();
  add_layers({3, 3, 16, 16, 1, 1, 32}, config);
  return config;
}

class SpeculationDistributionTest : public testing::Test {
 protected:
  SpeculationDistributionTest()
      : pool_(1),
        ops_(**kernels::find_cpu_table(""), pool_),
        forward_(make_synthetic(tiny(), {WeightFormat::bf16, 32}, pool_), ops_, Precision::bf16) {
    request_.prompt = {2, 0, 1};
    request_.sampling.temperature = kTemperature;
    request_.max_tokens = kLength;
    request_.context = 64;
  }

  // Of the tokens after a text, straight from the logits.
  Shares next(const Text& text) {
    Text standing = request_.prompt;
    standing.insert(standing.end(), text.begin(), text.end());
    KvCache kv(forward_.kv_layout(), 64);
    const SeqRows seq{&kv, static_cast<int32_t>(standing.size())};
    const int32_t last = seq.count - 1;
    const float* logits = forward_.run({standing, {&seq, 1}, {&last, 1}, {}}).logits;
    Shares shares{};
    for (size_t i = 0; i < shares.size(); ++i) {
      shares[i] = std::exp(static_cast<double>(logits[i]) / static_cast<double>(request_.sampling.temperature));
    }
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    for (double& share : shares) share /= sum;
    return shares;
  }

  void enumerate(const Text& text, double probability) {
    if (static_cast<int32_t>(text.size()) == kLength) {
      exact_[text] = probability;
      return;
    }
    const Shares shares = next(text);
    for (size_t i = 0; i < shares.size(); ++i) {
      Text longer = text;
      longer.push_back(static_cast<TokenId>(i));
      enumerate(longer, probability * shares[i]);
    }
  }

  std::map<Text, int> draw(int depth, int64_t& accepted) {
    std::map<Text, int> drawn;
    DiceDrafter drafter;
    FixedDepth fixed(depth);
    for (int i = 0; i < kDrawn; ++i) {
      request_.sampling.seed = static_cast<uint64_t>(i);
      const DecodeOutcome outcome = decode(forward_, request_, {}, {&drafter, &fixed});
      ++drawn[outcome.tokens];
      accepted += outcome.counters.accepted;
    }
    return drawn;
  }

  // How likely counts as far off as these are. Texts expected fewer than five times count as one.
  [[nodiscard]] double p_value(const std::map<Text, int>& drawn) const {
    double sum = 0, rare_expected = 0, rare_drawn = 0;
    int cells = 0;
    const auto add = [&](double count, double expected) {
      sum += (count - expected) * (count - expected) / expected;
      ++cells;
    };
    for (const auto& [text, probability] : exact_) {
      const double expected = probability * kDrawn;
      const auto found = drawn.find(text);
      const double count = found == drawn.end() ? 0 : found->second;
      if (expected >= 5) {
        add(count, expected);
      } else {
        rare_expected += expected;
        rare_drawn += count;
      }
    }
    if (rare_expected >= 5) add(rare_drawn, rare_expected);
    EXPECT_GT(cells, 40);
    return boost::math::cdf(boost::math::complement(boost::math::chi_squared(cells - 1), sum));
  }

  ThreadPool pool_;
  kernels::CpuOps ops_;
  Gemma4Forward forward_;
  DecodeRequest request_;
  std::map<Text, double> exact_;
};

// The seeds are fixed: it passes always or never.
TEST_F(SpeculationDistributionTest, WholeTextsAreAsLikelyAsTheModelSays) {
  enumerate({}, 1.0);
  ASSERT_EQ(exact_.size(), 64u);
  int64_t accepted = 0;
  const auto drawn = draw(2, accepted);
  EXPECT_GT(accepted, kDrawn / 4);
  EXPECT_GT(p_value(drawn), 0.001);
  // That the test can fail: for those of another temperature these texts would not pass.
  exact_.clear();
  request_.sampling.temperature = 1.0f;
  enumerate({}, 1.0);
  EXPECT_LT(p_value(drawn), 1e-6);
}

}  // namespace
}  // namespace paceline
