// Where the rows of one call stand: in their sequences, and which of them are given instead of looked up.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/ops.h"
#include "model/forward.h"

namespace paceline {

// The part of a sequence's soft tokens that a call runs.
struct SoftRows {
  int32_t first_row = 0, count = 0;
  int32_t last_pos = 0;
  const float* embeddings = nullptr;  // [count, hidden]
};

class RowPlaces {
 public:
  // Holds room in every sequence's cache for its rows. whole_pictures: images see both ways, and must not be cut.
  void place(const ForwardInput& input, int32_t hidden, bool whole_pictures);

  [[nodiscard]] std::vector<kernels::SeqSpan>& spans() { return spans_; }
  [[nodiscard]] const std::vector<SoftRows>& soft() const { return soft_; }
  // Of each row.
  [[nodiscard]] const std::vector<int32_t>& positions() const { return positions_; }
  // [rows]: a row's own position, or its image's last; none: every row sees up to itself.
  [[nodiscard]] const int32_t* last_pos() const { return last_pos_.empty() ? nullptr : last_pos_.data(); }

 private:
  void find_soft(const SeqRows& seq, int32_t first_row, int32_t hidden, bool whole_pictures);

  std::vector<kernels::SeqSpan> spans_;
  std::vector<SoftRows> soft_;
  std::vector<int32_t> positions_, last_pos_;
};

}  // namespace paceline
