// Which two neighbours merge into what, and how early: (left id, right id) → (rank, merged id).
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "tensor/dtype.h"

namespace paceline {

struct Merge {
  uint32_t rank;  // lower merges first
  TokenId id;
};

class MergeTable {
 public:
  void reserve(size_t merges) { slots_.assign(std::bit_ceil(2 * merges + 2), Slot{}); }

  // At most as many as were reserved. A pair that is given again keeps the later rank, as in Hugging Face's loader.
  void add(TokenId left, TokenId right, Merge merge) {
    slots_[slot_of(key_of(left, right))] = {key_of(left, right), merge};
    if (merge.rank >= ids_.size()) ids_.resize(size_t{merge.rank} + 1);
    ids_[merge.rank] = merge.id;
  }

  // Null where the two do not merge.
  [[nodiscard]] const Merge* find(TokenId left, TokenId right) const {
    const Slot& slot = slots_[slot_of(key_of(left, right))];
    return slot.key == kFree ? nullptr : &slot.merge;
  }

  // The highest rank there is, plus one; and what one of them makes.
  [[nodiscard]] size_t rank_end() const { return ids_.size(); }
  [[nodiscard]] TokenId id_of(uint32_t rank) const { return ids_[rank]; }

 private:
  static constexpr uint64_t kFree = ~0ull;  // ids are not negative, so that no pair is this
  struct Slot {
    uint64_t key = kFree;
    Merge merge = {0, 0};
  };

  static uint64_t key_of(TokenId left, TokenId right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  [[nodiscard]] size_t slot_of(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    uint64_t hash = key * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 32;
    hash *= 0x9E3779B97F4A7C15ull;
    for (size_t at = (hash >> 24) & mask;; at = (at + 1) & mask) {
      if (slots_[at].key == key || slots_[at].key == kFree) return at;
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(2);  // a power of two, at most half full
  std::vector<TokenId> ids_;                        // by rank
};

}  // namespace paceline
