// The table behind characters.h, written by tools/make_char_table.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace paceline {

// Characters first, first + step, ... last become those so far away.
struct CaseRange {
  char32_t first, last;
  uint32_t step;
  int32_t distance;
};

struct CaseText {
  char32_t code;
  std::string_view text;
};

struct CharTable {
  // Where a run of characters with the same flags begins, in the upper 24 bits, and the flags (see CharFlag).
  std::span<const uint32_t> runs;
  std::span<const CaseRange> upper, lower;
  std::span<const CaseText> upper_texts, lower_texts;  // those that become several
  std::span<const CaseText> titles;                    // where title case is not upper case
};

CharTable char_table();

}  // namespace paceline
