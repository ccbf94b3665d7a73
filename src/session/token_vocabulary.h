// A tokenizer's tokens, as grammars ask for them.
#pragma once

#include <memory>

#include "base/result.h"
#include "grammar/token_index.h"
#include "grammar/vocabulary.h"
#include "tokenizer/tokenizer.h"

namespace paceline {

class TokenVocabulary : public grammar::Vocabulary {
 public:
  // The tokenizer must outlive it.
  explicit TokenVocabulary(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  [[nodiscard]] TokenId id_end() const override { return tokenizer_.id_end(); }
  [[nodiscard]] std::string bytes_of(TokenId id) const override;
  [[nodiscard]] std::optional<TokenId> special(std::string_view text) const override;

 private:
  const Tokenizer& tokenizer_;
};

// An error where a token's bytes depend on what stands around it.
Result<std::shared_ptr<const grammar::TokenIndex>> make_token_index(const Tokenizer& tokenizer);

}  // namespace paceline
