// How plain text becomes ids: one kind for each way that vocabularies are made.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"
#include "tokenizer/piece_table.h"

namespace paceline {

class TextEncoder {
 public:
  virtual ~TextEncoder() = default;

  [[nodiscard]] virtual const PieceTable& vocab() const = 0;
  // `text`: valid UTF-8, as all text here. What pieces are looked for in.
  [[nodiscard]] virtual std::string normalize(std::string_view text) const = 0;
  // Appends the ids of normalised text, which holds no added token.
  virtual void encode(std::string_view normal, std::vector<TokenId>& ids) const = 0;
};

}  // namespace paceline
