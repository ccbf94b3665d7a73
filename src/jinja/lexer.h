// A template's text to tokens, with white space around tags taken as Hugging Face's environment does: the newline
// behind a tag goes (trim_blocks), and blanks before a tag that begins a line (lstrip_blocks).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jinja/value.h"

namespace paceline::jinja {

enum class TokenKind : uint8_t { text, print_begin, print_end, tag_begin, tag_end, name, string, number, op, end };

struct Token {
  TokenKind kind = TokenKind::end;
  int line = 0;
  std::string text;  // text, name, op; a string's contents
  Value number;
};

// `source` must be valid UTF-8. The last token is `end`.
Result<std::vector<Token>> tokenize(std::string_view source);

// What an error calls it.
std::string describe(const Token& token);

}  // namespace paceline::jinja
