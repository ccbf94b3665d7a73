#include "jinja/literals.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <optional>

#include "jinja/characters.h"

namespace paceline::jinja {
namespace {

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

// The end of a run of digits, single underscores between them allowed; `pos` if there is none.
size_t digits_end(std::string_view source, size_t pos, int base) {
  size_t end = pos;
  while (end < source.size()) {
    const size_t digit = source[end] == '_' && end > pos ? end + 1 : end;
    if (digit >= source.size() || digit_value(source[digit]) >= base) break;
    end = digit + 1;
  }
  return end;
}

int base_of_prefix(std::string_view source) {
  if (source.size() < 2 || source[0] != '0') return 10;
  switch (source[1] | 0x20) {
    case 'x': return 16;
    case 'o': return 8;
    case 'b': return 2;
    default: return 10;
  }
}

// The end of ".5", "e9" or ".5e9" at `pos`; `pos` if there is no such thing.
size_t fraction_end(std::string_view source, size_t pos) {
  size_t end = pos;
  if (end < source.size() && source[end] == '.') {
    const size_t digits = digits_end(source, end + 1, 10);
    if (digits > end + 1) end = digits;
  }
  if (end < source.size() && (source[end] | 0x20) == 'e') {
    size_t digits = end + 1;
    if (digits < source.size() && (source[digits] == '+' || source[digits] == '-')) ++digits;
    const size_t last = digits_end(source, digits, 10);
    if (last > digits) end = last;
  }
  return end;
}

struct Escape {
  size_t bytes;  // behind the backslash
  std::string text;
};

Result<Escape> code_escape(std::string_view rest, size_t digits) {
  uint32_t code = 0;
  for (size_t i = 1; i <= digits; ++i) {
    if (i >= rest.size() || digit_value(rest[i]) >= 16)
      return Error{fmt::format("expected {} hexadecimal digits behind '\\{}' in a string", digits, rest[0])};
    code = code * 16 + static_cast<uint32_t>(digit_value(rest[i]));
  }
  if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
    return Error{fmt::format("expected a character, found U+{:X} in a string", code)};
  Escape escape{1 + digits, ""};
  append_utf8(code, escape.text);
  return escape;
}

Escape octal_escape(std::string_view rest) {
  uint32_t code = 0;
  size_t bytes = 0;
  while (bytes < 3 && bytes < rest.size() && digit_value(rest[bytes]) < 8) {
    code = code * 8 + static_cast<uint32_t>(digit_value(rest[bytes++]));
  }
  Escape escape{bytes, ""};
  append_utf8(code, escape.text);
  return escape;
}

// `rest` is what follows a backslash, and not empty.
Result<Escape> read_escape(std::string_view rest) {
  switch (rest[0]) {
    case '\n': return Escape{1, ""};
    case '\\': return Escape{1, "\\"};
    case '\'': return Escape{1, "'"};
    case '"': return Escape{1, "\""};
    case 'a': return Escape{1, "\a"};
    case 'b': return Escape{1, "\b"};
    case 'f': return Escape{1, "\f"};
    case 'n': return Escape{1, "\n"};
    case 'r': return Escape{1, "\r"};
    case 't': return Escape{1, "\t"};
    case 'v': return Escape{1, "\v"};
    case 'x': return code_escape(rest, 2);
    case 'u': return code_escape(rest, 4);
    case 'U': return code_escape(rest, 8);
    case 'N': return Error{"names of characters (\\N{...}) are not known"};
    default: break;
  }
  if (digit_value(rest[0]) < 8) return octal_escape(rest);
  return Escape{0, "\\"};
}

}  // namespace

size_t number_bytes(std::string_view source, bool behind_dot) {
  const size_t whole = digits_end(source, 0, 10);
  if (whole == 0) return 0;
  if (!behind_dot) {
    const size_t fraction = fraction_end(source, whole);
    if (fraction > whole) return fraction;
  }
  if (const int base = base_of_prefix(source); base != 10) {
    size_t begin = 2;
    if (begin < source.size() && source[begin] == '_') ++begin;
    const size_t end = digits_end(source, begin, base);
    if (end > begin) return end;
  }
  // A number that begins with 0 is 0.
  if (source[0] != '0') return whole;
  size_t zeros = 1;
  while (zeros < whole && (source[zeros] == '0' || (source[zeros] == '_' && source[zeros + 1] == '0'))) ++zeros;
  return zeros;
}

Result<Value> read_number(std::string_view literal) {
  std::string digits;
  for (const char c : literal) {
    if (c != '_') digits += c;
  }
  const int base = base_of_prefix(digits);
  if (base != 10) digits.erase(0, 2);
  const char* end = digits.data() + digits.size();
  if (base == 10 && digits.find_first_of(".eE") != std::string::npos) {
    double real = 0;
    const auto [last, ec] = std::from_chars(digits.data(), end, real);
    if (ec == std::errc::result_out_of_range) return Value::real(std::strtod(digits.c_str(), nullptr));
    if (ec != std::errc() || last != end) return Error{fmt::format("expected a number, found {}", literal)};
    return Value::real(real);
  }
  int64_t integer = 0;
  const auto [last, ec] = std::from_chars(digits.data(), end, integer, base);
  if (ec != std::errc() || last != end) return Error{fmt::format("the number {} is out of range", literal)};
  return Value::integer(integer);
}

Result<std::string> unescape(std::string_view contents) {
  std::string text;
  for (size_t pos = 0; pos < contents.size();) {
    if (contents[pos] != '\\' || pos + 1 == contents.size()) {
      text += contents[pos++];
      continue;
    }
    TRY_ASSIGN(const Escape escape, read_escape(contents.substr(pos + 1)));
    text += escape.text;
    pos += 1 + escape.bytes;
  }
  return text;
}

}  // namespace paceline::jinja
