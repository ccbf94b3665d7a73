// Byte-pair encoding of a word: its characters, merged pair by pair in the order of rank. Equal to Hugging Face's,
// unknown characters and byte fallback included.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/merge_table.h"
#include "tokenizer/piece_table.h"
#include "tokenizer/tokenizer_file.h"

namespace paceline {

struct BpeSettings {
  std::optional<std::string> unk_token;  // none: unknown characters vanish
  bool fuse_unk = false;                 // unknown characters in a row become one token
  bool byte_fallback = false;            // unknown characters become the pieces of their bytes, where all are there
  bool ignore_merges = false;            // a word that is a piece is that piece
};

class Bpe {
 public:
  // `merges` are needed only here.
  static Result<Bpe> make(BpeSettings settings, PieceTable vocab, const MergeList& merges);

  [[nodiscard]] const PieceTable& vocab() const { return vocab_; }

  // Appends the ids of a word (valid UTF-8). In O(n log n), for a word of any length.
  void encode(std::string_view word, std::vector<TokenId>& ids) const;

 private:
  Bpe(BpeSettings settings, PieceTable vocab) : settings_(std::move(settings)), vocab_(std::move(vocab)) {}

  void note_joins(const MergeList& merges);
  void index_characters();
  [[nodiscard]] TokenId char_id(char32_t code) const {
    const uint16_t page = char_page_[code >> 8];
    return page == 0 ? kNone : char_ids_[(size_t{page} - 1) << 8 | (code & 0xFF)];
  }
  [[nodiscard]] bool may_join(TokenId left, TokenId right) const { return !cuts_ || joins_[join_bit(left, right)]; }
  static size_t join_bit(TokenId left, TokenId right) {
    return (static_cast<uint32_t>(left) * 0x9E3779B1u ^ static_cast<uint32_t>(right) * 0x85EBCA77u) >> (32 - kJoinBits);
  }
  [[nodiscard]] bool is_fallback_piece(std::string_view piece) const;
  void append_symbols(std::string_view word, std::vector<TokenId>& symbols) const;

  static constexpr TokenId kNone = -1;
  static constexpr int kJoinBits = 21;

  BpeSettings settings_;
  PieceTable vocab_;
  MergeTable merges_;
  TokenId unk_ = kNone;
  std::array<TokenId, 256> byte_ids_ = {};  // kNone where the vocabulary lacks the byte
  // Single characters by code point, in pages of 256; page 0 stands for none.
  std::vector<uint16_t> char_page_ = std::vector<uint16_t>(0x110000 >> 8, 0);
  std::vector<TokenId> char_ids_;
  // Which characters may end up in one token across the boundary between them: (last of a merge's left side, first of
  // its right side), hashed. A clear bit proves that no merge crosses, so the word may be cut there; a set bit proves
  // nothing. Only with cuts_: where byte or unknown pieces merge, characters do not tell the whole story.
  std::vector<bool> joins_ = std::vector<bool>(size_t{1} << kJoinBits, false);
  bool cuts_ = true;
};

}  // namespace paceline
