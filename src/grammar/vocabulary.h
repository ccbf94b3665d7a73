// What a grammar asks of a tokenizer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tensor/dtype.h"

namespace paceline::grammar {

class Vocabulary {
 public:
  virtual ~Vocabulary() = default;
  // The highest id, plus one.
  [[nodiscard]] virtual TokenId id_end() const = 0;
  // What a token adds to any text; empty for special tokens, and for ids that stand for nothing.
  [[nodiscard]] virtual std::string bytes_of(TokenId id) const = 0;
  // The special token that is written like this.
  [[nodiscard]] virtual std::optional<TokenId> special(std::string_view text) const = 0;
};

}  // namespace paceline::grammar
