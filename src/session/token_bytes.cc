#include "session/token_bytes.h"

#include <span>

#include "tokenizer/decode_plan.h"

namespace paceline {

std::string token_bytes(const Tokenizer& tokenizer, TokenId id) {
  const auto piece = tokenizer.piece(id);
  if (!piece) return "";
  if (const int byte = byte_of_piece(*piece); byte >= 0) return std::string(1, static_cast<char>(byte));
  return tokenizer.decode(std::span(&id, 1), false);
}

}  // namespace paceline
