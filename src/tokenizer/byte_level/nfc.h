// Unicode's normal form C: characters composed as far as they can be, marks in canonical order.
#pragma once

#include <string>
#include <string_view>

namespace paceline {

// `text` is valid UTF-8. In O(n log n), however many marks a character has.
std::string to_nfc(std::string_view text);

// Characters that are in normal form by themselves, have no part in the order of marks and join nothing before them.
// Not all of those: the blocks that most texts are written in.
bool is_calm(char32_t code);

}  // namespace paceline
