// Vocabularies whose smallest pieces are characters: replacements, cuts at strings, and byte-pair encoding of what is
// between the cuts.
#pragma once

#include <utility>
#include <vector>

#include "tokenizer/bpe.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/text_encoder.h"

namespace paceline {

class CharacterEncoder final : public TextEncoder {
 public:
  CharacterEncoder(std::vector<NormalizerStep> normalizer, std::vector<SplitStep> splits, Bpe bpe)
      : normalizer_(std::move(normalizer)), splits_(std::move(splits)), bpe_(std::move(bpe)) {}

  [[nodiscard]] const PieceTable& vocab() const override { return bpe_.vocab(); }
  [[nodiscard]] std::string normalize(std::string_view text) const override {
    return paceline::normalize(normalizer_, text);
  }
  void encode(std::string_view normal, std::vector<TokenId>& ids) const override {
    for (const std::string_view word : split_words(splits_, normal)) bpe_.encode(word, ids);
  }

 private:
  std::vector<NormalizerStep> normalizer_;
  std::vector<SplitStep> splits_;
  Bpe bpe_;
};

}  // namespace paceline
