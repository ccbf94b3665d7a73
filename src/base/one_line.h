// Messages as they are promised: one line of UTF-8, whatever a file was called.
#pragma once

#include <string>
#include <string_view>

namespace paceline {

// Blanks and control characters between words become one space, and bytes that are no character U+FFFD.
std::string one_line(std::string_view message);

}  // namespace paceline
