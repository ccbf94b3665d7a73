// All tokens of a vocabulary by their bytes, laid out for walking them together with an automaton. Built once per
// vocabulary, then shared.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/automaton.h"
#include "grammar/vocabulary.h"

namespace paceline::grammar {

// Byte strings as a tree in one row: a node's descendants follow it, so that going on is going to the next one, and
// leaving a branch out is a jump.
struct TokenTree {
  std::vector<uint8_t> byte;
  std::vector<uint8_t> depth;  // of the root's children: 1
  std::vector<int32_t> skip;   // the first node that is no descendant
  // Tokens that end at a node: tokens[first_token[node] .. first_token[node + 1]].
  std::vector<int32_t> first_token;
  std::vector<TokenId> tokens;

  [[nodiscard]] int32_t nodes() const { return static_cast<int32_t>(byte.size()); }
  [[nodiscard]] std::span<const TokenId> tokens_at(int32_t node) const {
    return {tokens.data() + first_token[node], static_cast<size_t>(first_token[node + 1] - first_token[node])};
  }
  // The nodes of all strings that begin with `byte`.
  struct Range {
    int32_t begin = 0, end = 0;
  };
  [[nodiscard]] Range branch(uint8_t first_byte) const;
  [[nodiscard]] size_t bytes() const;
};

inline constexpr size_t kMaxTokenBytes = 255;

class TokenIndex {
 public:
  static std::shared_ptr<const TokenIndex> build(const Vocabulary& vocabulary);

  // Words of a bitmap over all ids.
  [[nodiscard]] size_t words() const { return words_; }
  // What a token adds to the text; empty for special tokens and those that are never allowed.
  [[nodiscard]] std::string_view bytes_of(TokenId id) const {
    if (id < 0 || static_cast<size_t>(id) + 1 >= begin_.size()) return {};
    return std::string_view(text_).substr(begin_[id], begin_[id + 1] - begin_[id]);
  }
  [[nodiscard]] const TokenTree& all() const { return all_; }
  // Tokens that are not plain in a body: all others are in plain(body, kMaxTokenChars).
  [[nodiscard]] const TokenTree& rest(Body body) const { return bodies_[slot(body)].rest; }
  // Tokens of at most so many characters that are plain in a body, as a bitmap.
  [[nodiscard]] std::span<const uint64_t> plain(Body body, int32_t characters) const;
  [[nodiscard]] size_t memory_bytes() const;

 private:
  struct BodyTokens {
    TokenTree rest;
    std::vector<std::vector<uint64_t>> plain;  // by the most characters, from 0
  };
  static size_t slot(Body body) { return static_cast<size_t>(body) - 1; }
  void add_body(Body body, const std::vector<TokenId>& sorted);

  size_t words_ = 0;
  std::string text_;
  std::vector<uint32_t> begin_;
  TokenTree all_;
  std::array<BodyTokens, kBodies> bodies_;
};

}  // namespace paceline::grammar
