// Merges the symbols of a word until no two neighbours merge: always the pair of the lowest rank, the leftmost of
// equals.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tokenizer/merge_queue.h"
#include "tokenizer/merge_table.h"

namespace paceline {

class SymbolMerger {
 public:
  explicit SymbolMerger(const MergeTable& merges) : merges_(merges) {}

  // Appends what remains of `symbols` (which it overwrites) to `ids`.
  void merge(std::span<TokenId> symbols, std::vector<TokenId>& ids);

 private:
  void merge_few(std::span<TokenId> symbols, std::vector<TokenId>& ids);
  template <class Queue>
  void merge_many(std::span<const TokenId> symbols, Queue& queue, std::vector<TokenId>& ids);

  const MergeTable& merges_;
  // merge_few: the rank at which symbol i merges with i + 1.
  std::vector<uint32_t> ranks_;
  // merge_many: what is left of the word, and the pairs that may merge. All that a merge needs of a symbol is together:
  // it is no more than a look at the memory.
  struct Link {
    TokenId id;
    uint32_t previous, next;
    uint32_t rank;  // at which it merges with the next
  };
  std::vector<Link> links_;
  MergeHeap heap_;
  MergeBuckets buckets_;
};

}  // namespace paceline
