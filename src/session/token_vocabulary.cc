#include "session/token_vocabulary.h"

#include "tokenizer/decode_plan.h"

namespace paceline {

std::string TokenVocabulary::bytes_of(TokenId id) const {
  const auto piece = tokenizer_.piece(id);
  if (!piece || tokenizer_.is_added(id)) return {};
  return bytes_of_piece(tokenizer_.decode_plan(), *piece);
}

std::optional<TokenId> TokenVocabulary::special(std::string_view text) const {
  const auto id = tokenizer_.id_of(text);
  return id && tokenizer_.is_added(*id) ? id : std::nullopt;
}

Result<std::shared_ptr<const grammar::TokenIndex>> make_token_index(const Tokenizer& tokenizer) {
  const DecodePlan& plan = tokenizer.decode_plan();
  if (plan.joins_with_space || !plan.after_fuse.empty()) {
    return Error{"the tokenizer's decoder changes tokens by where they stand; a grammar needs their bytes"};
  }
  return grammar::TokenIndex::build(TokenVocabulary(tokenizer));
}

}  // namespace paceline
