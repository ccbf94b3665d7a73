#include "base/utf8.h"

#include <cstdint>
#include <cstring>

#include "base/check.h"

namespace paceline {
namespace {

constexpr bool is_continuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

// What the first byte promises: the length, and the range of the second byte (Unicode 15, table 3-7).
struct LeadByte {
  size_t bytes;
  unsigned char second_low, second_high;
};

LeadByte lead_byte(unsigned char byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

// How many leading bytes are plain ASCII, eight at a time.
size_t ascii_prefix(std::string_view bytes) {
  size_t pos = 0;
  for (; pos + 8 <= bytes.size(); pos += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + pos, 8);
    if (word & 0x8080808080808080ull) break;
  }
  while (pos < bytes.size() && static_cast<unsigned char>(bytes[pos]) < 0x80) ++pos;
  return pos;
}

}  // namespace

Utf8Front utf8_front(std::string_view bytes) {
  CHECK(!bytes.empty());
  const auto byte_at = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const LeadByte lead = lead_byte(byte_at(0));
  if (lead.bytes == 0) return {Utf8State::invalid, 1, 0};
  if (lead.bytes == 1) return {Utf8State::complete, 1, byte_at(0)};
  char32_t code = byte_at(0) & (0x7Fu >> lead.bytes);
  for (size_t i = 1; i < lead.bytes; ++i) {
    if (i >= bytes.size()) return {Utf8State::cut_short, i, 0};
    const unsigned char low = i == 1 ? lead.second_low : 0x80;
    const unsigned char high = i == 1 ? lead.second_high : 0xBF;
    if (byte_at(i) < low || byte_at(i) > high) return {Utf8State::invalid, i, 0};
    code = (code << 6) | (byte_at(i) & 0x3Fu);
  }
  return {Utf8State::complete, lead.bytes, code};
}

bool is_valid_utf8(std::string_view bytes) {
  while (true) {
    bytes.remove_prefix(ascii_prefix(bytes));
    if (bytes.empty()) return true;
    const Utf8Front front = utf8_front(bytes);
    if (front.state != Utf8State::complete) return false;
    bytes.remove_prefix(front.bytes);
  }
}

std::string with_invalid_utf8_replaced(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Utf8Front front = utf8_front(bytes);
    text += front.state == Utf8State::complete ? bytes.substr(0, front.bytes) : kReplacementCharacter;
    bytes.remove_prefix(front.bytes);
  }
  return text;
}

TextChar char_at(std::string_view valid_text, size_t pos) {
  const auto byte_at = [&](size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(valid_text[pos + i])); };
  const char32_t first = byte_at(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xE0) return {((first & 0x1F) << 6) | (byte_at(1) & 0x3F), 2};
  if (first < 0xF0) return {((first & 0x0F) << 12) | ((byte_at(1) & 0x3F) << 6) | (byte_at(2) & 0x3F), 3};
  return {((first & 0x07) << 18) | ((byte_at(1) & 0x3F) << 12) | ((byte_at(2) & 0x3F) << 6) | (byte_at(3) & 0x3F), 4};
}

size_t char_begin_before(std::string_view valid_text, size_t end) {
  size_t begin = end - 1;
  while (begin > 0 && is_continuation(static_cast<unsigned char>(valid_text[begin]))) --begin;
  return begin;
}

bool is_white_space(char32_t code) {
  if (code < 0x80) return code == ' ' || (code >= '\t' && code <= '\r');
  return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
         code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

bool is_python_space(char32_t code) { return is_white_space(code) || (code >= 0x1C && code <= 0x1F); }

std::string_view lstrip_like_python(std::string_view valid_text) {
  while (!valid_text.empty()) {
    const TextChar first = char_at(valid_text, 0);
    if (!is_python_space(first.code)) break;
    valid_text.remove_prefix(first.bytes);
  }
  return valid_text;
}

std::string_view rstrip_like_python(std::string_view valid_text) {
  while (!valid_text.empty()) {
    const size_t begin = char_begin_before(valid_text, valid_text.size());
    if (!is_python_space(char_at(valid_text, begin).code)) break;
    valid_text.remove_suffix(valid_text.size() - begin);
  }
  return valid_text;
}

std::string_view strip_like_python(std::string_view valid_text) {
  return lstrip_like_python(rstrip_like_python(valid_text));
}

std::string with_replaced(std::string_view text, std::string_view pattern, std::string_view content) {
  CHECK(!pattern.empty());
  std::string replaced;
  replaced.reserve(text.size());
  size_t pos = 0;
  while (true) {
    const size_t found = text.find(pattern, pos);
    if (found == std::string_view::npos) break;
    replaced.append(text, pos, found - pos).append(content);
    pos = found + pattern.size();
  }
  return replaced.append(text, pos);
}

}  // namespace paceline
