#include "session/data_uri.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/ascii.h"

namespace paceline {
namespace {

constexpr int8_t kNone = -1;

constexpr std::array<int8_t, 256> make_letters() {
  std::array<int8_t, 256> values{};
  values.fill(kNone);
  int8_t next = 0;
  for (char c = 'A'; c <= 'Z'; ++c) values[static_cast<uint8_t>(c)] = next++;
  for (char c = 'a'; c <= 'z'; ++c) values[static_cast<uint8_t>(c)] = next++;
  for (char c = '0'; c <= '9'; ++c) values[static_cast<uint8_t>(c)] = next++;
  values['+'] = values['-'] = 62;
  values['/'] = values['_'] = 63;
  return values;
}
constexpr auto kLetters = make_letters();

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int8_t value = kLetters[static_cast<uint8_t>(c)];
    if (value == kNone) return std::nullopt;
    bits = (bits << 6) | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>((bits >> count) & 0xFF);
  }
  return bytes;
}

std::optional<std::string> read_data_uri(std::string_view uri) {
  constexpr std::string_view kScheme = "data:", kEncoding = ";base64";
  // Neither cares for capitals (RFC 3986, RFC 2397).
  if (in_lower_case(uri.substr(0, kScheme.size())) != kScheme) return std::nullopt;
  const size_t comma = uri.find(',');
  if (comma == std::string_view::npos || comma < kScheme.size() + kEncoding.size()) return std::nullopt;
  if (in_lower_case(uri.substr(comma - kEncoding.size(), kEncoding.size())) != kEncoding) return std::nullopt;
  return decode_base64(uri.substr(comma + 1));
}

std::string write_data_uri(std::string_view type, std::string_view bytes) {
  constexpr std::string_view kWritten = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string uri = "data:";
  uri.append(type).append(";base64,");
  uri.reserve(uri.size() + bytes.size() / 3 * 4 + 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    const size_t count = std::min<size_t>(bytes.size() - i, 3);
    for (size_t k = 0; k < 3; ++k) bits = bits << 8 | (k < count ? static_cast<uint8_t>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) uri += k <= count ? kWritten[(bits >> (18 - 6 * k)) & 63] : '=';
  }
  return uri;
}

}  // namespace paceline
