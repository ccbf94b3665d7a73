// Byte-pair encoding whose smallest pieces are bytes: every text has its pieces, and none is unknown.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/merge_symbols.h"
#include "tokenizer/merge_table.h"
#include "tokenizer/piece_table.h"
#include "tokenizer/tokenizer_file.h"

namespace paceline {

class ByteBpe {
 public:
  // Pieces are written in the letters of byte_alphabet.h. `merges` are needed only here.
  static Result<ByteBpe> make(PieceTable vocab, const MergeList& merges, bool ignore_merges);

  [[nodiscard]] const PieceTable& vocab() const { return vocab_; }

  // Encodes words one after another, with memory that it keeps between them.
  class Writer {
   public:
    explicit Writer(const ByteBpe& bpe) : bpe_(bpe), merger_(bpe.merges_) {}
    // Appends the ids of a word, in O(n log n).
    void encode(std::string_view word, std::vector<TokenId>& ids);

   private:
    const ByteBpe& bpe_;
    SymbolMerger merger_;
    std::vector<TokenId> symbols_;
  };

 private:
  ByteBpe(PieceTable vocab, bool ignore_merges) : vocab_(std::move(vocab)), ignore_merges_(ignore_merges) {}

  PieceTable vocab_;
  MergeTable merges_;
  std::array<TokenId, 256> byte_ids_ = {};
  bool ignore_merges_;  // a word that is a piece is that piece
};

}  // namespace paceline
