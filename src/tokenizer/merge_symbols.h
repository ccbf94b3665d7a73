// Merges the symbols of a word until no two neighbours merge: always the pair of the lowest rank, the leftmost of
// equals.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tokenizer/merge_table.h"

namespace paceline {

class SymbolMerger {
 public:
  explicit SymbolMerger(const MergeTable& merges) : merges_(merges) {}

  // Appends what remains of `symbols` (which it overwrites) to `ids`.
  void merge(std::span<TokenId> symbols, std::vector<TokenId>& ids);

 private:
  void merge_few(std::span<TokenId> symbols, std::vector<TokenId>& ids);
  void merge_many(std::span<TokenId> symbols, std::vector<TokenId>& ids);
  void offer(uint32_t pos, TokenId left, TokenId right);

  const MergeTable& merges_;
  // merge_few: the rank at which symbol i merges with i + 1.
  std::vector<uint32_t> ranks_;
  // merge_many: neighbours of each symbol that is left, and the pairs that may merge, as rank << 32 | pos.
  std::vector<uint32_t> previous_, next_;
  std::vector<uint64_t> queue_;
};

}  // namespace paceline
