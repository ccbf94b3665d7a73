// Prompt lookup: the longest end of the text that occurred before, and what followed it the last time. Needs no model;
// hits where text repeats itself: code, quotations, edits of what was given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "speculate/proposer.h"

namespace paceline {

struct NgramSettings {
  int32_t longest = 4;   // tokens that must agree, tried from the longest
  int32_t shortest = 1;  // to the shortest
};

class NgramProposer : public Proposer {
 public:
  explicit NgramProposer(NgramSettings settings = {});

  void reset() override;
  int32_t propose(const DraftContext& context, std::span<TokenId> out) override;

 private:
  void index_new(std::span<const TokenId> tokens);
  [[nodiscard]] size_t follow_up(std::span<const TokenId> tokens) const;

  NgramSettings settings_;
  // Hash of an n-gram → where the token after its latest occurrence stands.
  std::unordered_map<uint64_t, size_t> after_;
  // N-grams whose next token stands before here are in after_.
  size_t indexed_ = 0;
};

}  // namespace paceline
