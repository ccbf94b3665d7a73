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

uint32_t MergeBuckets::Run::take() {
  uint32_t pos = 0;
  if (late.empty() || (!places.empty() && places.back() < late.front())) {
    pos = places.back();
    places.pop_back();
  } else {
    std::pop_heap(late.begin(), late.end(), std::greater<>());
    pos = late.back();
    late.pop_back();
  }
  return pos;
}

bool MergeBuckets::take(OfferedMerge& merge) {
  while (depth_ > 0 && runs_[depth_ - 1].is_empty()) --depth_;
  if (!ranks_.empty()) {
    if (depth_ == 0 || ranks_.front() < runs_[depth_ - 1].rank) {
      begin();
    } else if (ranks_.front() == runs_[depth_ - 1].rank) {
      join(runs_[depth_ - 1]);
    }
  }
  if (depth_ == 0) return false;
  Run& run = runs_[depth_ - 1];
  merge = {run.rank, run.take()};
  return true;
}

void MergeBuckets::take_list(std::vector<uint32_t>& places) {
  std::pop_heap(ranks_.begin(), ranks_.end(), std::greater<>());
  uint32_t& newest = newest_[ranks_.back()];
  ranks_.pop_back();
  uint32_t last = kNone;
  for (uint32_t at = newest; at != kNone; at = places_[at].older) {
    places.push_back(places_[at].pos);
    last = at;
  }
  places_[last].older = unused_;
  unused_ = newest;
  newest = kNone;
}

void MergeBuckets::begin() {
  if (depth_ == runs_.size()) runs_.emplace_back();
  Run& run = runs_[depth_++];
  run.rank = ranks_.front();
  take_list(run.places);
  // Most come from left to right.
  if (!std::is_sorted(run.places.begin(), run.places.end(), std::greater<>()))
    std::sort(run.places.begin(), run.places.end(), std::greater<>());
}

void MergeBuckets::join(Run& run) {
  joining_.clear();
  take_list(joining_);
  for (const uint32_t pos : joining_) {
    run.late.push_back(pos);
    std::push_heap(run.late.begin(), run.late.end(), std::greater<>());
  }
}

}  // namespace paceline
