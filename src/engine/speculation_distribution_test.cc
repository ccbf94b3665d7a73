// Texts drawn with speculation follow the model's own distribution: counts of whole short texts against their exact
// probabilities, every text of a small alphabet enumerated.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>

#include "base/philox.h"
#include "engine/decode.h"
#include "kernels/cpu_ops.h"
#include "model/load.h"

namespace paceline {
namespace {

constexpr std::array<TokenId, 3> kAlphabet = {128 + ' ', 128 + 'e', 128 + 's'};
constexpr int32_t kLength = 3;
constexpr int kTexts = 3000;
constexpr float kTemperature = 1.7f;

// Drafts from the alphabet, so that a third of them hold.
class AlphabetProposer : public Proposer {
 public:
  void reset() override {}
  int32_t propose(const DraftContext&, std::span<TokenId> out) override {
    for (TokenId& draft : out) draft = kAlphabet[random_block(5, asked_++, 0, 0)[0] % kAlphabet.size()];
    return static_cast<int32_t>(out.size());
  }

 private:
  uint64_t asked_ = 0;
};

class SpeculationDistributionTest : public testing::Test {
 protected:
  SpeculationDistributionTest()
      : pool_(1),
        ops_(**kernels::find_cpu_table(""), pool_),
        model_(*load_model(std::filesystem::path(PACELINE_SOURCE_DIR) / "tests/goldens/dense/target", pool_)),
        forward_(model_.weights, ops_, Precision::f32) {
    auto suppressed = std::make_shared<std::vector<TokenId>>();
    for (TokenId id = 0; id < model_.config.vocab; ++id) {
      if (std::find(kAlphabet.begin(), kAlphabet.end(), id) == kAlphabet.end()) suppressed->push_back(id);
    }
    request_.prompt = {2, 128 + 't', 128 + 'h'};
    request_.sampling.temperature = kTemperature;
    request_.sampling.suppressed = suppressed;
    request_.max_tokens = kLength;
    request_.context = 64;
  }

  // Of the alphabet's tokens after a text, straight from the logits.
  std::array<double, kAlphabet.size()> next(const std::vector<TokenId>& text) {
    std::vector<TokenId> standing = request_.prompt;
    standing.insert(standing.end(), text.begin(), text.end());
    KvCache kv(forward_.kv_layout(), 64);
    const SeqRows seq{&kv, static_cast<int32_t>(standing.size())};
    const int32_t last = seq.count - 1;
    const float* logits = forward_.run({standing, {&seq, 1}, {&last, 1}, {}}).logits;
    std::array<double, kAlphabet.size()> shares{};
    for (size_t i = 0; i < shares.size(); ++i) {
      shares[i] = std::exp(static_cast<double>(logits[kAlphabet[i]]) / static_cast<double>(kTemperature));
    }
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    for (double& share : shares) share /= sum;
    return shares;
  }

  void enumerate(const std::vector<TokenId>& text, double probability) {
    if (static_cast<int32_t>(text.size()) == kLength) {
      exact_[text] = probability;
      return;
    }
    const auto shares = next(text);
    for (size_t i = 0; i < shares.size(); ++i) {
      std::vector<TokenId> longer = text;
      longer.push_back(kAlphabet[i]);
      enumerate(longer, probability * shares[i]);
    }
  }

  // Texts expected fewer than five times count as one.
  [[nodiscard]] double chi_square(const std::map<std::vector<TokenId>, int>& drawn, int& cells) const {
    double sum = 0, rare_expected = 0, rare_drawn = 0;
    for (const auto& [text, probability] : exact_) {
      const double expected = probability * kTexts;
      const auto found = drawn.find(text);
      const double count = found == drawn.end() ? 0 : found->second;
      if (expected < 5) {
        rare_expected += expected;
        rare_drawn += count;
        continue;
      }
      sum += (count - expected) * (count - expected) / expected;
      ++cells;
    }
    if (rare_expected < 5) return sum;
    ++cells;
    return sum + (rare_drawn - rare_expected) * (rare_drawn - rare_expected) / rare_expected;
  }

  ThreadPool pool_;
  kernels::CpuOps ops_;
  LoadedModel model_;
  Forward forward_;
  DecodeRequest request_;
  std::map<std::vector<TokenId>, double> exact_;
};

TEST_F(SpeculationDistributionTest, WholeTextsAreAsLikelyAsTheModelSays) {
  enumerate({}, 1.0);
  ASSERT_EQ(exact_.size(), 27u);
  std::map<std::vector<TokenId>, int> drawn;
  AlphabetProposer proposer;
  FixedDepth depth(2);
  int64_t accepted = 0;
  for (int i = 0; i < kTexts; ++i) {
    request_.sampling.seed = static_cast<uint64_t>(i);
    const DecodeOutcome outcome = decode(forward_, request_, {}, {&proposer, &depth});
    ++drawn[outcome.tokens];
    accepted += outcome.counters.accepted;
  }
  int cells = 0;
  const double sum = chi_square(drawn, cells);
  ASSERT_GT(cells, 8);
  EXPECT_GT(accepted, kTexts / 4);
  // Mean cells - 1, variance twice that; four deviations. The seeds are fixed: it passes always or never.
  const double freedom = cells - 1;
  EXPECT_LT(sum, freedom + 4 * std::sqrt(2 * freedom));
  EXPECT_GT(sum, freedom - 4 * std::sqrt(2 * freedom));
}

}  // namespace
}  // namespace paceline
