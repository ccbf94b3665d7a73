// Which of some words somebody meant who typed another.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace paceline {

// The word that `typed` begins, or that is reached with the fewest letters changed, left out or added; "": none is
// near.
std::string nearest_word(std::string_view typed, std::span<const std::string> words);

}  // namespace paceline
