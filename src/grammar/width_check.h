// How many ways to read a document a grammar leaves open at once, found out before anybody waits for its masks.
#pragma once

#include "base/result.h"
#include "grammar/automaton.h"

namespace paceline::grammar {

// An error names the place whose alternatives stay open together, over more edges than a position may have. Looks
// behind all places that the automaton notes as wide, as far as they stay wide, within bounds of its own: what it does
// not find is dropped while matching.
Status check_width(const Automaton& automaton);

}  // namespace paceline::grammar
