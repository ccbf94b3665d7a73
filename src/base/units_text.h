// Numbers with their units, for people.
#pragma once

#include <string>

namespace paceline {

// 1234567 → "1.2 MB"
std::string bytes_text(double bytes);
// 1234.5 → "1.23 s", 12.3 → "12.3 ms"
std::string time_text(double ms);

}  // namespace paceline
