// Drafters for tests and measurements: always wrong, always right, or both by turns. The latter are told the plain
// run's tokens.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/philox.h"
#include "speculate/drafter.h"

namespace paceline {

class RandomDrafter : public SingleDrafter {
 public:
  RandomDrafter(uint64_t seed, int32_t vocab) : seed_(seed), vocab_(vocab) {}
  int32_t draft(const DraftContext&, DrafterState*, std::span<TokenId> out) override {
    for (TokenId& draft : out) draft = next();
    return static_cast<int32_t>(out.size());
  }

 private:
  TokenId next() {
    const uint32_t word = random_block(seed_, asked_++, 0, 0)[0];
    return static_cast<TokenId>(word % static_cast<uint32_t>(vocab_));
  }

  uint64_t seed_;
  uint64_t asked_ = 0;
  int32_t vocab_;
};

// Each draft is right with probability `right`, whatever came before it.
class KnowingDrafter : public SingleDrafter {
 public:
  KnowingDrafter(std::vector<TokenId> prompt, const std::vector<TokenId>& output, int32_t vocab, double right)
      : vocab_(vocab), right_(right) {
    know(std::move(prompt), output);
  }
  // The next text that it drafts for.
  void know(std::vector<TokenId> prompt, const std::vector<TokenId>& output) {
    text_ = std::move(prompt);
    text_.insert(text_.end(), output.begin(), output.end());
  }
  int32_t draft(const DraftContext& context, DrafterState*, std::span<TokenId> out) override {
    int32_t drafted = 0;
    for (size_t at = context.tokens.size(); drafted < static_cast<int32_t>(out.size()) && at < text_.size(); ++at) {
      const double dice = static_cast<double>(random_block(7, asked_++, 0, 0)[0]) / 4294967296.0;
      out[static_cast<size_t>(drafted++)] = dice < right_ ? text_[at] : (text_[at] + 1) % vocab_;
    }
    return drafted;
  }

 private:
  std::vector<TokenId> text_;
  uint64_t asked_ = 0;
  int32_t vocab_;
  double right_;
};

}  // namespace paceline
