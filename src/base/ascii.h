// ASCII as protocols use it: other characters are left as they are.
#pragma once

#include <string>
#include <string_view>

namespace paceline {

std::string in_lower_case(std::string_view text);

}  // namespace paceline
