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

}  // namespace paceline
