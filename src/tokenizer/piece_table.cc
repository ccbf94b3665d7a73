#include "tokenizer/piece_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace paceline {

uint64_t hash_of(std::string_view bytes) {
  constexpr uint64_t kOddConstant = 0x9E3779B97F4A7C15ull;  // 2^64 / golden ratio
  uint64_t hash = bytes.size() * kOddConstant;
  const auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * kOddConstant;
    hash ^= hash >> 32;
  };
  size_t pos = 0;
  for (; pos + 8 <= bytes.size(); pos += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + pos, 8);
    mix(word);
  }
  uint64_t rest = 0;
  if (pos < bytes.size()) std::memcpy(&rest, bytes.data() + pos, bytes.size() - pos);
  mix(rest);
  return hash * kOddConstant;
}

void PieceTable::add(std::string_view piece, TokenId id) {
  entries_.push_back({static_cast<uint32_t>(bytes_.size()), static_cast<uint32_t>(piece.size()), id});
  bytes_ += piece;
}

Status PieceTable::finish() {
  const auto by_id = [](const Entry& a, const Entry& b) { return a.id < b.id; };
  if (!std::is_sorted(entries_.begin(), entries_.end(), by_id)) std::sort(entries_.begin(), entries_.end(), by_id);
  const auto twin =
      std::adjacent_find(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.id == b.id; });
  if (twin != entries_.end()) {
    return Error{fmt::format("vocabulary: expected one piece per id, found id {} for both \"{}\" and \"{}\"", twin->id,
                             text_of(twin[0]), text_of(twin[1]))};
  }
  slots_.assign(std::bit_ceil(2 * entries_.size() + 2), Slot{});
  for (size_t i = 0; i < entries_.size(); ++i) {
    const std::string_view piece = text_of(entries_[i]);
    const uint64_t hash = hash_of(piece);
    Slot& slot = slots_[slot_of(piece, hash)];
    if (slot.entry_plus_one != 0) {
      return Error{fmt::format("vocabulary: expected every piece once, found \"{}\" with ids {} and {}", piece,
                               entries_[slot.entry_plus_one - 1].id, entries_[i].id)};
    }
    slot = {static_cast<uint32_t>(hash >> 32), static_cast<uint32_t>(i + 1)};
  }
  return Done{};
}

size_t PieceTable::slot_of(std::string_view piece, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  const auto tag = static_cast<uint32_t>(hash >> 32);
  // The index comes from the middle of the hash, the tag from its top.
  for (size_t at = (hash >> 20) & mask;; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.entry_plus_one == 0) return at;
    if (slot.tag == tag && text_of(entries_[slot.entry_plus_one - 1]) == piece) return at;
  }
}

std::optional<TokenId> PieceTable::id_of(std::string_view piece) const {
  if (slots_.empty()) return std::nullopt;
  const Slot& slot = slots_[slot_of(piece, hash_of(piece))];
  if (slot.entry_plus_one == 0) return std::nullopt;
  return entries_[slot.entry_plus_one - 1].id;
}

std::optional<std::string_view> PieceTable::piece(TokenId id) const {
  if (id < 0) return std::nullopt;
  // Almost every vocabulary numbers its pieces 0, 1, 2, ...
  const auto dense = static_cast<size_t>(id);
  if (dense < entries_.size() && entries_[dense].id == id) return text_of(entries_[dense]);
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), id,
                                   [](const Entry& entry, TokenId wanted) { return entry.id < wanted; });
  if (at == entries_.end() || at->id != id) return std::nullopt;
  return text_of(*at);
}

}  // namespace paceline
