#include "session/token_bytes.h"

#include "tokenizer/decode_plan.h"

namespace paceline {

std::string token_bytes(const Tokenizer& tokenizer, TokenId id) {
  const auto piece = tokenizer.piece(id);
  if (!piece) return "";
  return bytes_of_piece(tokenizer.decode_plan(), *piece);
}

}  // namespace paceline
