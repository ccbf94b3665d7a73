// Tokens that are recognised in the text itself, before anything else looks at it: <bos>, <|turn>, ...
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"
#include "tokenizer/text_encoder.h"

namespace paceline {

struct AddedToken {
  TokenId id = 0;
  std::string content;       // not empty
  bool single_word = false;  // only where no word character touches it
  bool lstrip = false;       // takes the white space before it along
  bool rstrip = false;       // and behind it
  bool normalized = false;   // looked for in normalised text, in its own normalised form
  bool special = false;      // left out when decoding without special tokens
};

// A stretch of text, or a token that was found in it.
struct TextPart {
  std::string_view text;  // empty for a token
  std::optional<TokenId> token;
};

// Finds a set of tokens: the leftmost first, of those at one place the longest.
class AddedTokenFinder {
 public:
  // Looks for each token's `form` (its content, or that normalised). Of equal forms the first wins.
  struct Pattern {
    std::string form;
    AddedToken token;
  };
  AddedTokenFinder() = default;
  explicit AddedTokenFinder(std::vector<Pattern> patterns);

  // `text` is valid UTF-8. Views into it.
  [[nodiscard]] std::vector<TextPart> split(std::string_view text) const;

 private:
  [[nodiscard]] const Pattern* longest_at(std::string_view text, size_t pos) const;

  std::vector<Pattern> patterns_;                 // sorted by form, so that those with a common head are neighbours
  std::array<uint32_t, 257> first_of_byte_ = {};  // where the forms that begin with this byte begin
};

// The two passes over text: tokens found as they are, and tokens found in normalised text.
struct AddedTokenFinders {
  AddedTokenFinder plain, normalized;
};
AddedTokenFinders make_finders(const std::vector<AddedToken>& tokens, const TextEncoder& encoder);

}  // namespace paceline
