// Prompt lookup: the longest end of the text that occurred before, and what followed it the last time. Needs no model;
// hits where text repeats itself: code, quotations, edits of what was given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>

#include "speculate/drafter.h"

namespace paceline {

struct NgramSettings {
  int32_t longest = 4;   // tokens that must agree, tried from the longest
  int32_t shortest = 1;  // to the shortest
};

// Of one text: hash of an n-gram → where the token after its latest occurrence stands.
class NgramIndex : public DrafterState {
 public:
  explicit NgramIndex(NgramSettings settings) : settings_(settings) {}

  // `tokens` begin with those of the call before.
  int32_t draft(std::span<const TokenId> tokens, std::span<TokenId> out);

 private:
  void index_new(std::span<const TokenId> tokens);
  [[nodiscard]] size_t follow_up(std::span<const TokenId> tokens) const;

  NgramSettings settings_;
  std::unordered_map<uint64_t, size_t> after_;
  // N-grams whose next token stands before here are in after_.
  size_t indexed_ = 0;
};

class NgramDrafter : public SingleDrafter {
 public:
  explicit NgramDrafter(NgramSettings settings = {});

  [[nodiscard]] DraftedBy kind(int32_t) const override { return DraftedBy::ngram; }
  std::unique_ptr<DrafterState> start() override { return std::make_unique<NgramIndex>(settings_); }
  int32_t draft(const DraftContext& context, DrafterState* state, std::span<TokenId> out) override {
    return static_cast<NgramIndex*>(state)->draft(context.tokens, out);
  }

 private:
  NgramSettings settings_;
};

}  // namespace paceline
