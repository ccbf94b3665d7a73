#include "session/token_vocabulary.h"

#include <algorithm>

#include "tokenizer/decode_plan.h"

namespace paceline {

TokenVocabulary::TokenVocabulary(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
  const auto& steps = tokenizer.decode_plan().steps;
  has_byte_fallback_ = std::any_of(steps.begin(), steps.end(),
                                   [](const DecodeStep& step) { return step.kind == DecodeStep::Kind::byte_fallback; });
}

std::string TokenVocabulary::bytes_of(TokenId id) const {
  const auto piece = tokenizer_.piece(id);
  if (!piece || tokenizer_.is_special(id)) return {};
  const int byte = has_byte_fallback_ ? byte_of_piece(*piece) : -1;
  if (byte >= 0) return std::string(1, static_cast<char>(byte));
  std::string text;
  PieceJoiner joiner(tokenizer_.decode_plan(), ByteRuns::whole);
  joiner.push(*piece, text);
  joiner.finish(text);
  return text;
}

std::optional<TokenId> TokenVocabulary::special(std::string_view text) const {
  const auto id = tokenizer_.id_of(text);
  return id && tokenizer_.is_special(*id) ? id : std::nullopt;
}

Result<std::shared_ptr<const grammar::TokenIndex>> make_token_index(const Tokenizer& tokenizer) {
  const DecodePlan& plan = tokenizer.decode_plan();
  if (plan.joins_with_space || !plan.after_fuse.empty()) {
    return Error{"the tokenizer's decoder changes tokens by where they stand; a grammar needs their bytes"};
  }
  return grammar::TokenIndex::build(TokenVocabulary(tokenizer));
}

}  // namespace paceline
