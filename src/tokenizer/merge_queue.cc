#include "tokenizer/merge_queue.h"

namespace paceline {

void MergeBuckets::offer(OfferedMerge merge) {
  uint32_t& newest = newest_[merge.rank];
  if (newest == kNone) {
    ranks_.push_back(merge.rank);
    std::push_heap(ranks_.begin(), ranks_.end(), std::greater<>());
  }
  const uint32_t at = unused_ != kNone ? unused_ : static_cast<uint32_t>(places_.size());
  if (unused_ != kNone) {
    unused_ = places_[at].older;
    places_[at] = {merge.pos, newest};
  } else {
    places_.push_back({merge.pos, newest});
  }
  newest = at;
}

bool MergeBuckets::take(OfferedMerge& merge) {
  if (!current_.empty() && !ranks_.empty() && ranks_.front() < rank_) set_aside();
  if (current_.empty()) {
    if (ranks_.empty()) return false;
    std::pop_heap(ranks_.begin(), ranks_.end(), std::greater<>());
    begin(ranks_.back());
  }
  merge = {rank_, current_.back()};
  current_.pop_back();
  return true;
}

// A lower rank has turned up.
void MergeBuckets::set_aside() {
  for (const uint32_t pos : current_) offer({rank_, pos});
  current_.clear();
}

void MergeBuckets::begin(uint32_t rank) {
  ranks_.pop_back();
  rank_ = rank;
  uint32_t last = kNone;
  for (uint32_t at = newest_[rank]; at != kNone; at = places_[at].older) {
    current_.push_back(places_[at].pos);
    last = at;
  }
  places_[last].older = unused_;
  unused_ = newest_[rank];
  newest_[rank] = kNone;
  // Most come from left to right.
  if (!std::is_sorted(current_.begin(), current_.end(), std::greater<>()))
    std::sort(current_.begin(), current_.end(), std::greater<>());
}

}  // namespace paceline
