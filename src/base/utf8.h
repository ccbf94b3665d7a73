// UTF-8, and the few properties of characters that the tokenizer and the chat templates ask for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace paceline {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

// What stands at the front of some bytes.
enum class Utf8State { complete, cut_short, invalid };

struct Utf8Front {
  Utf8State state;
  size_t bytes;   // complete: of the character. cut_short: all that is there. invalid: the maximal subpart to replace.
  char32_t code;  // complete only
};

// Strict: no overlong forms, no surrogates, nothing above U+10FFFF. `bytes` must not be empty.
Utf8Front utf8_front(std::string_view bytes);

bool is_valid_utf8(std::string_view bytes);

// Every maximal invalid subpart becomes one U+FFFD, as Python's and Rust's lossy readers do.
std::string with_invalid_utf8_replaced(std::string_view bytes);

// The character at `pos` of valid text.
struct TextChar {
  char32_t code;
  size_t bytes;
};
TextChar char_at(std::string_view valid_text, size_t pos);

// The first byte of the character that ends just before `end` (> 0) of valid text.
size_t char_begin_before(std::string_view valid_text, size_t end);

// Unicode's White_Space: what \s matches in the regular expressions of Hugging Face's tokenizers.
bool is_white_space(char32_t code);

// Word characters: what \w matches there (letters, marks, decimal digits, connectors, joiners).
bool is_word_char(char32_t code);

// Python's str.isspace(): White_Space and the four ASCII separators U+001C..U+001F.
bool is_python_space(char32_t code);

// Python's str.strip(), lstrip() and rstrip().
std::string_view strip_like_python(std::string_view valid_text);
std::string_view lstrip_like_python(std::string_view valid_text);
std::string_view rstrip_like_python(std::string_view valid_text);

// `text` with every occurrence of `pattern` (not empty) replaced, left to right.
std::string with_replaced(std::string_view text, std::string_view pattern, std::string_view content);

}  // namespace paceline
