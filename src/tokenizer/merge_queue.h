// Pairs that may merge, given out by rank, and from left to right where ranks are equal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace paceline {

struct OfferedMerge {
  uint32_t rank, pos;
};

// For words: a heap.
class MergeHeap {
 public:
  // Before the first is taken.
  void put(OfferedMerge merge) { queue_.push_back(word_of(merge)); }
  void finish() { std::make_heap(queue_.begin(), queue_.end(), std::greater<>()); }

  void offer(OfferedMerge merge) {
    put(merge);
    std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
  }
  // False: none is left.
  bool take(OfferedMerge& merge) {
    if (queue_.empty()) return false;
    std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
    merge = {static_cast<uint32_t>(queue_.back() >> 32), static_cast<uint32_t>(queue_.back())};
    queue_.pop_back();
    return true;
  }

 private:
  static uint64_t word_of(OfferedMerge merge) { return uint64_t{merge.rank} << 32 | merge.pos; }
  std::vector<uint64_t> queue_;
};

// For words as long as books, where few ranks have many places each: a heap of ranks, a list of places for each. A rank
// whose places are being given out when a lower one turns up waits on a stack as it is; places that it is offered until
// it goes on are few, and have a heap of their own.
class MergeBuckets {
 public:
  // All ranks are below `rank_end`.
  void reserve(size_t rank_end) { newest_.resize(std::max(newest_.size(), rank_end), kNone); }
  void put(OfferedMerge merge) { offer(merge); }
  void finish() {}
  void offer(OfferedMerge merge);
  bool take(OfferedMerge& merge);

 private:
  static constexpr uint32_t kNone = ~0u;
  struct Place {
    uint32_t pos, older;  // of the same rank
  };
  struct Run {
    uint32_t rank = 0;
    std::vector<uint32_t> places;  // the last first
    std::vector<uint32_t> late;    // a heap
    [[nodiscard]] bool is_empty() const { return places.empty() && late.empty(); }
    uint32_t take();
  };
  // What waits for the heap's first rank, and the rank itself, leave for `places`, the newest first.
  void take_list(std::vector<uint32_t>& places);
  void begin();
  void join(Run& run);

  std::vector<uint32_t> newest_;  // by rank: into places_
  std::vector<Place> places_;
  uint32_t unused_ = kNone;      // those that were taken, likewise linked
  std::vector<uint32_t> ranks_;  // that have places
  // Those that are being given out, each of a lower rank than the one before; those behind `depth_` are empty.
  std::vector<Run> runs_;
  size_t depth_ = 0;
  std::vector<uint32_t> joining_;
};

}  // namespace paceline
