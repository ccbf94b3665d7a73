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
        end_(from == nullptr ? at_ : at_ + bytes),
        step_(pieces > 0 ? (bytes / 64 + pieces - 1) / pieces * 64 : 0) {}

  [[gnu::always_inline]] void ask() {
    const char* const stop = at_ + step_ < end_ ? at_ + step_ : end_;
    for (; at_ < stop; at_ += 64) __builtin_prefetch(at_, 0, 2);
  }

 private:
  const char *at_, *end_;
  int64_t step_;
};

}  // namespace paceline::kernels::lanes
