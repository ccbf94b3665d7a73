// Messages as they are promised: one line of UTF-8, whatever a file was called.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace paceline {

// Blanks and control characters between words become one space, and bytes that are no character U+FFFD.
std::string one_line(std::string_view message);

// What somebody wrote, to be quoted: its beginning where it is long.
std::string shortened(std::string_view text);
// Of a line that is longer than that its beginning and its end, as much of each.
std::string without_middle(const std::string& line, size_t most_bytes);

}  // namespace paceline
