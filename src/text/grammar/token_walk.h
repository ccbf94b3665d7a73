// The tokens that may follow a position of a grammar.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text/grammar/matcher.h"
#include "text/grammar/token_index.h"

namespace paceline::grammar {

// Sets the bits of all tokens whose bytes, or which themselves, may follow `position`. `bitmap` has index.words()
// words.
void add_allowed(const Automaton& automaton, const TokenIndex& index, Matcher& matcher, SetId position,
                 std::span<uint64_t> bitmap);

// The position behind a token; kDead if it may not follow.
SetId position_behind(const TokenIndex& index, Matcher& matcher, SetId position, TokenId token);

}  // namespace paceline::grammar
