// Texts that were seen, and what followed: a text that comes again is known as soon as some tokens of it stand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "tensor/dtype.h"

namespace paceline {

class KnownTexts {
 public:
  // A text is known by so many tokens in a row.
  static constexpr size_t kTokens = 16;

  // One that grows; remembered for as long as this lives.
  class Text {
   private:
    friend class KnownTexts;
    std::vector<TokenId> tokens;
  };
  Text* begin() { return &texts_.emplace_back(); }
  // All of it, which begins as it did the last time.
  void note(Text& text, std::span<const TokenId> all);

  // What followed these tokens, at most so many; none: they were not seen.
  [[nodiscard]] std::span<const TokenId> behind(std::span<const TokenId> tokens, size_t most) const;
  // The same for the same last tokens.
  [[nodiscard]] static uint64_t print_of(std::span<const TokenId> tokens);

 private:
  struct Place {
    const Text* text = nullptr;
    size_t next = 0;  // the token behind
  };
  std::deque<Text> texts_;
  std::unordered_map<uint64_t, Place> places_;  // by the tokens in front
};

}  // namespace paceline
