// What is wanted next, asked for piece by piece in the order in which it lies: so the processor's own prefetcher
// follows. Whoever asks faster than memory answers waits.
#pragma once

#include <cstdint>

namespace paceline::kernels::lanes {

// Tiles of four rows, two and one that so many rows are: pieces of work.
constexpr int32_t row_tiles(int32_t rows) { return rows / 4 + rows % 4 / 2 + rows % 2; }

class Ahead {
 public:
  // pieces: in how many it is to be asked for; none, where there is nothing to do meanwhile. from: none, nothing is.
  Ahead(const void* from, int64_t bytes, int32_t pieces)
      : at_(static_cast<const char*>(from)),
        left_(from == nullptr ? 0 : (bytes + 63) / 64),
        each_(pieces > 0 ? (bytes / 64 + pieces - 1) / pieces : 0) {}

  [[gnu::always_inline]] void ask() {
    const int64_t some = each_ < left_ ? each_ : left_;
    for (int64_t line = 0; line < some; ++line) __builtin_prefetch(at_ + line * 64, 0, 2);
    at_ += some * 64;
    left_ -= some;
  }

 private:
  const char* at_;
  int64_t left_, each_;  // lines
};

}  // namespace paceline::kernels::lanes
