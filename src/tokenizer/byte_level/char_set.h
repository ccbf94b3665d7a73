// Sets of characters as the splitting expressions of tokenizers name them: \p{L}, \s, [^\r\n\p{L}\p{N}].
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace paceline {

// Every character is of one kind.
enum CharKind : uint8_t {
  kLetterKind = 1,  // \p{L}
  kMarkKind = 2,    // \p{M}
  kNumberKind = 4,  // \p{N}
  kSpaceKind = 8,   // \s
  kOtherKind = 16,
};
CharKind kind_of(char32_t code);

class CharSet {
 public:
  void add_kinds(uint8_t kinds) { kinds_ |= kinds; }
  void add_char(char32_t code) { chars_.push_back(code); }
  void negate() { negated_ = !negated_; }
  // When all is added.
  void finish();

  [[nodiscard]] bool contains(char32_t code) const { return code < 128 ? ascii_[code] : looks_up(code); }

 private:
  [[nodiscard]] bool looks_up(char32_t code) const;

  uint8_t kinds_ = 0;
  std::vector<char32_t> chars_;
  bool negated_ = false;
  std::array<bool, 128> ascii_ = {};
};

}  // namespace paceline
