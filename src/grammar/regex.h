// Regular expressions as schemas write them (ECMA 262), as far as an automaton can follow them: characters, classes,
// groups, alternatives, repetitions, and anchors at the ends. Looking ahead or back, references and boundaries of words
// are errors that name them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace paceline::grammar {

struct CodeRange {
  int32_t low = 0, high = 0;  // code points, both included
};

inline constexpr int32_t kLastCode = 0x10FFFF;

struct RegexNode {
  enum class Kind : uint8_t { characters, sequence, alternatives, repeat };
  Kind kind = Kind::sequence;
  std::vector<CodeRange> characters = {};  // ascending, apart
  std::vector<RegexNode> parts = {};       // of a repeat: one
  int32_t least = 0, most = 0;             // repeat; most -1: any number
};

// What all of a text must be: without an anchor anything may stand before or behind it.
Result<RegexNode> parse_regex(std::string_view pattern);

}  // namespace paceline::grammar
