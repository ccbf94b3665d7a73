#include "base/one_line.h"

#include "base/utf8.h"

namespace paceline {

std::string one_line(std::string_view message) {
  std::string line;
  bool gap = false;
  for (const char c : with_invalid_utf8_replaced(message)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool blank = byte <= ' ' || byte == 0x7F;
    if (!blank) {
      if (gap && !line.empty()) line += ' ';
      line += c;
    }
    gap = blank;
  }
  return line;
}

std::string shortened(std::string_view text) {
  constexpr size_t kMost = 100;
  if (text.size() <= kMost) return std::string(text);
  size_t cut = kMost;
  // Between characters; bytes that are none may be cut anywhere.
  while (cut > kMost - 4 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
  return std::string(text.substr(0, cut)) + "…";
}

std::string without_middle(const std::string& line, size_t most_bytes) {
  if (line.size() <= most_bytes) return line;
  const size_t end = char_begin_before(line, most_bytes / 2);
  const size_t begin = char_begin_before(line, line.size() - most_bytes / 2 + 1);
  return line.substr(0, end) + " … " + line.substr(begin);
}

}  // namespace paceline
