// How text looks on a terminal: by who wrote it, and without what would command the terminal.
#pragma once

#include <string>
#include <string_view>

#include "engine/event.h"

namespace paceline {

// Accepted guesses green, corrected ones red, the rest as it is.
std::string coloured(std::string_view text, TokenOrigin origin);
std::string dimmed(std::string_view text);

// Control characters but line ends and tabs become U+FFFD: a text must not move the cursor or name the window.
std::string without_controls(std::string_view text);

}  // namespace paceline
