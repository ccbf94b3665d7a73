// Substrings in time linear in both texts, whatever they are: std::string::find is quadratic at its worst.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

namespace paceline::jinja {

inline size_t find_text(std::string_view text, std::string_view part, size_t pos = 0) {
  if (pos > text.size()) return std::string_view::npos;
  if (part.empty()) return pos;
  const void* found = memmem(text.data() + pos, text.size() - pos, part.data(), part.size());
  return found == nullptr ? std::string_view::npos : static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

inline size_t rfind_text(std::string_view text, std::string_view part) {
  constexpr size_t kShort = 16;  // up to here the plain search is linear enough
  if (part.size() <= kShort) return text.rfind(part);
  const std::string backward(text.rbegin(), text.rend());
  const size_t found = find_text(backward, std::string(part.rbegin(), part.rend()));
  return found == std::string_view::npos ? found : text.size() - found - part.size();
}

}  // namespace paceline::jinja
