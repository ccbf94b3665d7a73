#include "model/row_places.h"

#include <algorithm>

#include "base/check.h"

namespace paceline {

void RowPlaces::place(const ForwardInput& input, int32_t hidden, bool whole_pictures) {
  spans_.clear();
  soft_.clear();
  positions_.clear();
  last_pos_.clear();
  int32_t row = 0;
  for (const SeqRows& seq : input.seqs) {
    // Whoever shares a pool has seen to it before.
    const bool has_room = seq.kv->reserve(seq.count, seq.drafts);
    CHECK(has_room);
    spans_.push_back({row, seq.count, seq.kv->length(), {}});
    find_soft(seq, row, hidden, whole_pictures);
    for (int32_t i = 0; i < seq.count; ++i) positions_.push_back(seq.kv->length() + i);
    row += seq.count;
  }
  CHECK(row == static_cast<int32_t>(input.tokens.size()));
  if (!whole_pictures || soft_.empty()) return;
  last_pos_ = positions_;
  for (const SoftRows& soft : soft_) std::fill_n(last_pos_.begin() + soft.first_row, soft.count, soft.last_pos);
}

void RowPlaces::find_soft(const SeqRows& seq, int32_t first_row, int32_t hidden, bool whole_pictures) {
  const int32_t begin = seq.kv->length(), end = begin + seq.count;
  for (const SoftTokens& soft : seq.soft) {
    const int32_t from = std::max(begin, soft.first_pos), to = std::min(end, soft.end_pos());
    if (from >= to) continue;
    CHECK(!whole_pictures || to - from == soft.count);
    soft_.push_back({first_row + from - begin, to - from, to - 1,
                     soft.embeddings + static_cast<int64_t>(from - soft.first_pos) * hidden});
  }
}

}  // namespace paceline
