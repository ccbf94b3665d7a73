// The tokens so far, as the chooser sees them.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "tensor/dtype.h"

namespace paceline {

// How often each token stands in prompt and output. Advanced and taken back token by token while drafts are verified;
// always equal to counting anew.
class TokenCounts {
 public:
  struct Count {
    int32_t prompt = 0;
    int32_t generated = 0;
    bool operator==(const Count&) const = default;
  };

  TokenCounts() = default;
  TokenCounts(std::span<const TokenId> prompt, std::span<const TokenId> generated);

  void clear() { counts_.clear(); }
  void add_prompt(std::span<const TokenId> tokens);
  void advance(TokenId token) { ++counts_[token].generated; }
  // Takes back one advance(token).
  void take_back(TokenId token);

  [[nodiscard]] const std::unordered_map<TokenId, Count>& all() const { return counts_; }
  bool operator==(const TokenCounts&) const = default;

 private:
  std::unordered_map<TokenId, Count> counts_;
};

// A value: what stands before the token to be chosen. `counts`, where given, must be those of the two spans; it only
// saves counting them again.
struct History {
  std::span<const TokenId> prompt;
  std::span<const TokenId> generated;
  const TokenCounts* counts = nullptr;
};

}  // namespace paceline
