#include "cli/origin_colour.h"

#include <fmt/format.h>

namespace paceline {

std::string coloured(std::string_view text, TokenOrigin origin) {
  switch (origin) {
    case TokenOrigin::accepted: return fmt::format("\x1b[32m{}\x1b[0m", text);
    case TokenOrigin::corrected: return fmt::format("\x1b[31m{}\x1b[0m", text);
    case TokenOrigin::plain:
    case TokenOrigin::extra: break;
  }
  return std::string(text);
}

std::string dimmed(std::string_view text) { return fmt::format("\x1b[2m{}\x1b[0m", text); }

std::string without_controls(std::string_view text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string made;
  made.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool is_plain = byte >= 0x20 ? byte != 0x7F : byte == '\n' || byte == '\t';
    // The second row of controls, U+0080 to U+009F.
    const bool is_second = byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (is_second) ++i;
    if (is_plain && !is_second) {
      made += text[i];
    } else {
      made += kReplacement;
    }
  }
  return made;
}

}  // namespace paceline
