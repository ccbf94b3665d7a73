// The model's pieces: strings to ids and back. Built once, then read only. Memory is a few words per piece plus the
// pieces' bytes, whatever the ids: ids need not be dense.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"

namespace paceline {

// For tables over strings; the same on every machine.
uint64_t hash_of(std::string_view bytes);

class PieceTable {
 public:
  // While building. The caller keeps all pieces together under 4 GiB.
  void add(std::string_view piece, TokenId id);

  // Ends building: refuses a piece or an id that occurs twice.
  Status finish();

  [[nodiscard]] std::optional<TokenId> id_of(std::string_view piece) const;
  [[nodiscard]] std::optional<std::string_view> piece(TokenId id) const;
  [[nodiscard]] size_t size() const { return entries_.size(); }

  // The highest id there is, plus one.
  [[nodiscard]] TokenId id_end() const { return entries_.empty() ? 0 : entries_.back().id + 1; }

  // In the order of ids.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Entry& entry : entries_) visit(text_of(entry), entry.id);
  }

 private:
  struct Entry {
    uint32_t begin, bytes;
    TokenId id;
  };
  struct Slot {
    uint32_t tag = 0;
    uint32_t entry_plus_one = 0;  // 0: free
  };

  [[nodiscard]] std::string_view text_of(const Entry& entry) const {
    return std::string_view(bytes_).substr(entry.begin, entry.bytes);
  }
  [[nodiscard]] size_t slot_of(std::string_view piece, uint64_t hash) const;

  std::string bytes_;           // all pieces, one after another
  std::vector<Entry> entries_;  // sorted by id once finished
  std::vector<Slot> slots_;     // a power of two, at most half full
};

}  // namespace paceline
