// What the tests of grammars share: reading a text byte by byte, a validator of our own, and random walks.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/constraint.h"
#include "grammar/documents.h"
#include "grammar/matcher.h"
#include "grammar/token_walk.h"
#include "grammar/validator_for_tests.h"

namespace paceline::grammar {

inline boost::json::value parsed(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = 1000;
  boost::json::error_code failed;
  auto value = boost::json::parse(text, failed, {}, options);
  EXPECT_FALSE(failed) << failed.message() << ": " << text;
  return value;
}

inline Automaton schema_automaton(std::string_view schema) {
  auto made = json_schema_grammar(parsed(schema));
  if (!made.ok()) {
    ADD_FAILURE() << made.error().message << ": " << schema;
    std::abort();
  }
  return std::move(made).value();
}

enum class Reading { no, open, complete };

inline Reading reading(const Automaton& automaton, std::string_view text) {
  Matcher matcher(automaton);
  SetId position = matcher.start();
  for (const char byte : text) position = matcher.step(position, static_cast<uint8_t>(byte));
  if (matcher.complete(position)) return Reading::complete;
  return position == kDead ? Reading::no : Reading::open;
}

inline bool is_set(std::span<const uint64_t> bits, TokenId id) {
  return static_cast<size_t>(id) / 64 < bits.size() && (bits[id / 64] >> (id % 64) & 1) != 0;
}

inline std::vector<TokenId> ids_of(std::span<const uint64_t> bits) {
  std::vector<TokenId> ids;
  for (size_t word = 0; word < bits.size(); ++word) {
    for (uint64_t left = bits[word]; left != 0; left &= left - 1) {
      ids.push_back(static_cast<TokenId>(word * 64 + static_cast<size_t>(__builtin_ctzll(left))));
    }
  }
  return ids;
}

inline std::shared_ptr<const TokenConstraint> constraint_of(Automaton automaton,
                                                            std::shared_ptr<const TokenIndex> index, TokenId end) {
  auto made = GrammarConstraint::make(std::move(automaton), std::move(index), {end});
  EXPECT_TRUE(made.ok());
  return std::move(made).value();
}

// The masks along a text, against trying every token.
inline void expect_brute_force_masks(const Automaton& automaton, const TokenIndex& index, ConstraintCursor& cursor,
                                     std::span<const TokenId> tokens, TokenId end) {
  Matcher matcher(automaton);
  WalkCount count;
  SetId position = matcher.start();
  const auto follows = [&](TokenId id) {
    if (id == end) return matcher.complete(position);
    if (index.bytes_of(id).empty()) return matcher.step_token(position, id) != kDead;
    SetId behind = position;
    for (const char byte : index.bytes_of(id)) behind = matcher.step_counted(behind, static_cast<uint8_t>(byte), count);
    return behind != kDead;
  };
  for (size_t i = 0; i <= tokens.size(); ++i) {
    std::vector<TokenId> tried;
    for (TokenId id = 0; id < static_cast<TokenId>(index.words() * 64); ++id) {
      if (follows(id)) tried.push_back(id);
    }
    ASSERT_EQ(ids_of(cursor.allowed(tokens.first(i))), tried) << i;
    if (i < tokens.size()) position = position_behind(index, matcher, position, tokens[i]);
  }
}

// A text that the automaton allows, by bytes chosen at random; "": none was found in so many bytes.
inline std::string random_text(const Automaton& automaton, std::mt19937& random) {
  Matcher matcher(automaton);
  SetId at = matcher.start();
  std::string text;
  while (text.size() < 400) {
    if (matcher.complete(at) && random() % 2 == 0) return text;
    std::vector<int> open;
    for (int byte = 0; byte < 256; ++byte) {
      if (matcher.step(at, static_cast<uint8_t>(byte)) != kDead) open.push_back(byte);
    }
    if (open.empty()) return matcher.complete(at) ? text : "";
    const int byte = open[random() % open.size()];
    at = matcher.step(at, static_cast<uint8_t>(byte));
    text += static_cast<char>(byte);
  }
  return "";
}

}  // namespace paceline::grammar
