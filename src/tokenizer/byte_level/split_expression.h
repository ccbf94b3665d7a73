// The regular expressions by which tokenizers cut text into words, of the kind that they are written in: alternatives
// of characters, sets and repetitions, tried in order, each as long as it can be. Anything else is refused by name.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/byte_level/char_set.h"

namespace paceline {

struct SplitItem {
  enum class Kind : uint8_t {
    characters,  // from `least` to `most` characters of the set
    not_ahead,   // (?!…): the next character is not of the set
  };
  Kind kind = Kind::characters;
  CharSet set;
  uint32_t least = 1, most = 1;
};

class SplitExpression {
 public:
  static constexpr uint32_t kNoMost = ~0u;
  static Result<SplitExpression> parse(std::string_view expression);

  // The words of valid UTF-8, one after another: what matches, and what stands between matches. `take(word)`.
  template <class Take>
  void for_each_word(std::string_view text, Take take) const {
    size_t done = 0;
    for (size_t pos = 0; pos < text.size();) {
      const size_t bytes = match(text, pos);
      if (bytes == 0) {
        pos += first_char_bytes(text, pos);
        continue;
      }
      if (pos > done) take(text.substr(done, pos - done));
      take(text.substr(pos, bytes));
      done = pos += bytes;
    }
    if (done < text.size()) take(text.substr(done));
  }

 private:
  using Sequence = std::vector<SplitItem>;

  // How many bytes match at `pos`; 0: nothing does.
  [[nodiscard]] size_t match(std::string_view text, size_t pos) const;
  static size_t first_char_bytes(std::string_view text, size_t pos);

  std::vector<Sequence> alternatives_;
};

}  // namespace paceline
