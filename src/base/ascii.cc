#include "base/ascii.h"

namespace paceline {

std::string in_lower_case(std::string_view text) {
  std::string made(text);
  for (char& c : made)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return made;
}

}  // namespace paceline
