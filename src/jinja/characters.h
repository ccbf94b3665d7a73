// Characters of valid UTF-8 text, counted and told apart as Python's str does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace paceline {

size_t count_characters(std::string_view valid_text);

// The byte where character number `count` begins; the text's size if it has fewer.
size_t byte_of_character(std::string_view valid_text, size_t count);

void append_utf8(char32_t code, std::string& text);

// What str.isalpha(), isdecimal() and so on say of one character.
enum CharFlag : uint8_t {
  kAlphabetic = 1,
  kDecimal = 2,
  kDigit = 4,
  kNumeric = 8,
  kPrintable = 16,
  kUpper = 32,
  kLower = 64,
  kTitle = 128,
};
inline constexpr uint8_t kCased = kUpper | kLower | kTitle;
uint8_t char_flags(char32_t code);

void append_upper(char32_t code, std::string& text);
void append_lower(char32_t code, std::string& text);
void append_title(char32_t code, std::string& text);

// str.upper(), lower(), title(), capitalize(), swapcase().
std::string to_upper(std::string_view valid_text);
std::string to_lower(std::string_view valid_text);
std::string to_title(std::string_view valid_text);
std::string to_capitalized(std::string_view valid_text);
std::string with_case_swapped(std::string_view valid_text);

}  // namespace paceline
