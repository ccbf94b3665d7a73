#include "tokenizer/byte_level/byte_bpe.h"

#include <fmt/core.h>

#include "tokenizer/byte_level/byte_alphabet.h"

namespace paceline {

Result<ByteBpe> ByteBpe::make(PieceTable vocab, const MergeList& merges, bool ignore_merges) {
  ByteBpe bpe(std::move(vocab), ignore_merges);
  for (size_t byte = 0; byte < 256; ++byte) {
    const auto id = bpe.vocab_.id_of(letter_of_byte(static_cast<uint8_t>(byte)));
    if (!id) return Error{fmt::format("model.vocab: expected a piece for every byte, found none for 0x{:02X}", byte)};
    bpe.byte_ids_[byte] = *id;
  }
  TRY(add_merges(bpe.vocab_, merges, bpe.merges_));
  return bpe;
}

void ByteBpe::Writer::encode(std::string_view word, std::vector<TokenId>& ids) {
  symbols_.clear();
  for (const char byte : word) symbols_.push_back(bpe_.byte_ids_[static_cast<unsigned char>(byte)]);
  if (bpe_.ignore_merges_) {
    std::string piece;
    for (const char byte : word) piece += letter_of_byte(static_cast<uint8_t>(byte));
    if (const auto id = bpe_.vocab_.id_of(piece)) return ids.push_back(*id);
  }
  merger_.merge(symbols_, ids);
}

}  // namespace paceline
