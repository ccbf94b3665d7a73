#include "cli/byte_size.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <optional>
#include <string>

namespace paceline {
namespace {

// How many times 1024; none: it is no unit.
std::optional<int> power_of(std::string_view unit) {
  std::string small;
  for (const char c : unit) small += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (small.empty() || small == "b") return 0;
  constexpr std::string_view kLetters = "kmgtpe";
  const size_t power = kLetters.find(small.front());
  const std::string_view rest = std::string_view(small).substr(1);
  if (power == std::string_view::npos || (!rest.empty() && rest != "b" && rest != "ib")) return std::nullopt;
  return static_cast<int>(power) + 1;
}

std::optional<size_t> size_of(std::string_view text) {
  size_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  while (text.starts_with(' ')) text.remove_prefix(1);
  const std::optional<int> power = power_of(text);
  if (!power) return std::nullopt;
  for (int i = 0; i < *power; ++i) {
    if (number > SIZE_MAX / 1024) return std::nullopt;
    number *= 1024;
  }
  return number;
}

std::string size_text(size_t bytes) {
  constexpr const char* kUnits[] = {"", " KB", " MB", " GB", " TB"};
  size_t unit = 0;
  for (; unit < 4 && bytes > 0 && bytes % 1024 == 0; ++unit) bytes /= 1024;
  return fmt::format("{}{}", bytes, kUnits[unit]);
}

}  // namespace

Result<size_t> read_byte_size(std::string_view text, const SizeRange& range) {
  const std::optional<size_t> size = size_of(text);
  if (size && *size >= range.low && *size <= range.high) return *size;
  return Error{fmt::format("expected a number of bytes from {} to {}, as 4096, 512MB or 8GB; found '{}'",
                           size_text(range.low), size_text(range.high), text)};
}

}  // namespace paceline
