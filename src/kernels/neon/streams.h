// Which outputs a tile computes side by side. Neighbouring weight rows often share a memory page, and the processor's
// prefetcher follows one stream per page; so a range of outputs is cut into kRows runs, and tile t takes the t-th row
// of each: every run is read from its first byte to its last. With many rows of activations, where arithmetic is the
// bound, a tile takes neighbours instead, so that its results lie side by side.
#pragma once

#include <cstdint>

namespace paceline::kernels::neon {

template <int kRows, bool kNeighbours = false>
struct Streams {
  int32_t begin, end;  // the range of outputs
  int32_t run;         // rows per run: the number of tiles

  Streams(int32_t n_begin, int32_t n_end) : begin(n_begin), end(n_end), run((n_end - n_begin + kRows - 1) / kRows) {}

  // Output i of a tile. In a range that kRows does not divide the last tiles compute its last output several times.
  [[nodiscard]] int32_t row(int32_t tile, int i) const {
    const int32_t n = kNeighbours ? begin + tile * kRows + i : begin + i * run + tile;
    return n < end ? n : end - 1;
  }
};

}  // namespace paceline::kernels::neon
