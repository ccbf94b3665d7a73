#include "tokenizer/bpe.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "base/utf8.h"
#include "tokenizer/merge_symbols.h"

namespace paceline {

Result<Bpe> Bpe::make(BpeSettings settings, PieceTable vocab, const MergeList& merges) {
  Bpe bpe(std::move(settings), std::move(vocab));
  if (bpe.settings_.unk_token) {
    const auto unk = bpe.vocab_.id_of(*bpe.settings_.unk_token);
    if (!unk) {
      return Error{
          fmt::format("model.unk_token: expected a piece of the vocabulary, found \"{}\"", *bpe.settings_.unk_token)};
    }
    bpe.unk_ = *unk;
  }
  for (size_t byte = 0; byte < 256; ++byte) {
    bpe.byte_ids_[byte] = bpe.vocab_.id_of(fmt::format("<0x{:02X}>", byte)).value_or(kNone);
  }
  bpe.index_characters();
  TRY(add_merges(bpe.vocab_, merges, bpe.merges_));
  bpe.note_joins(merges);
  return bpe;
}

void Bpe::index_characters() {
  vocab_.for_each([&](std::string_view piece, TokenId id) {
    if (piece.empty() || piece.size() > 4) return;
    const TextChar first = char_at(piece, 0);
    if (first.bytes != piece.size()) return;
    uint16_t& page = char_page_[first.code >> 8];
    if (page == 0) {
      char_ids_.resize(char_ids_.size() + 256, kNone);
      page = static_cast<uint16_t>(char_ids_.size() >> 8);
    }
    char_ids_[(size_t{page} - 1) << 8 | (first.code & 0xFF)] = id;
  });
}

// A piece of several characters that can stand in a word before any merge.
bool Bpe::is_fallback_piece(std::string_view piece) const {
  if (settings_.unk_token && piece == *settings_.unk_token) return true;
  return settings_.byte_fallback && piece.size() == 6 && piece.starts_with("<0x");
}

void Bpe::note_joins(const MergeList& merges) {
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const std::string_view left = merges.left(rank), right = merges.right(rank);
    if (left.empty() || right.empty()) continue;  // no word has an empty symbol
    if (is_fallback_piece(left) || is_fallback_piece(right)) cuts_ = false;
    const TokenId last = char_id(char_at(left, char_begin_before(left, left.size())).code);
    const TokenId first = char_id(char_at(right, 0).code);
    if (last != kNone && first != kNone) joins_[join_bit(last, first)] = true;
  }
}

// The word's characters as pieces, before any merge.
void Bpe::append_symbols(std::string_view word, std::vector<TokenId>& symbols) const {
  bool unk_waits = false;
  for (size_t pos = 0; pos < word.size();) {
    const TextChar next = char_at(word, pos);
    const std::string_view bytes = word.substr(pos, next.bytes);
    pos += next.bytes;
    if (const TokenId id = char_id(next.code); id != kNone) {
      if (unk_waits) symbols.push_back(unk_);
      unk_waits = false;
      symbols.push_back(id);
      continue;
    }
    const auto byte_id = [&](char byte) { return byte_ids_[static_cast<unsigned char>(byte)]; };
    if (settings_.byte_fallback &&
        std::all_of(bytes.begin(), bytes.end(), [&](char byte) { return byte_id(byte) != kNone; })) {
      // An unknown character that waits goes on waiting: Hugging Face puts it behind these bytes.
      for (const char byte : bytes) symbols.push_back(byte_id(byte));
      continue;
    }
    if (unk_ == kNone) continue;
    if (unk_waits && !settings_.fuse_unk) symbols.push_back(unk_);
    unk_waits = true;
  }
  if (unk_waits) symbols.push_back(unk_);
}

void Bpe::encode(std::string_view word, std::vector<TokenId>& ids) const {
  if (word.empty()) return;
  if (settings_.ignore_merges) {
    if (const auto id = vocab_.id_of(word)) {
      ids.push_back(*id);
      return;
    }
  }
  std::vector<TokenId> symbols;
  symbols.reserve(word.size());
  append_symbols(word, symbols);
  SymbolMerger merger(merges_);
  for (size_t begin = 0; begin < symbols.size();) {
    size_t end = begin + 1;
    while (end < symbols.size() && may_join(symbols[end - 1], symbols[end])) ++end;
    merger.merge(std::span(symbols).subspan(begin, end - begin), ids);
    begin = end;
  }
}

}  // namespace paceline
