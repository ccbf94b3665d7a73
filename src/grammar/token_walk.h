// The tokens that may follow a position of a grammar.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grammar/matcher.h"
#include "grammar/token_index.h"

namespace paceline::grammar {

// What one mask may take. A unit is a branch of the tokens' tree looked at, or an edge or state on the way of a step;
// each step is counted once per mask, remembered or not, so that the count depends on the position alone.
inline constexpr int64_t kMaxMaskWork = 1'000'000;

struct MaskWork {
  int64_t units = 0;
  int64_t most = kMaxMaskWork;
  bool cut = false;  // there was more: only tokens of one byte were all looked at
};

// Sets the bits of all tokens whose bytes, or which themselves, may follow `position`. `bitmap` has index.words()
// words. Where that takes more than it may, tokens of several bytes are left out, those with the lowest bytes last:
// whatever could be written can still be written, byte by byte.
void add_allowed(const Automaton& automaton, const TokenIndex& index, Matcher& matcher, SetId position,
                 std::span<uint64_t> bitmap, MaskWork& work);

// The position behind a token; kDead if it may not follow.
SetId position_behind(const TokenIndex& index, Matcher& matcher, SetId position, TokenId token);

}  // namespace paceline::grammar
