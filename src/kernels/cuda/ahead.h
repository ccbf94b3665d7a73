// Weights that a small kernel asks into the L2 cache while it runs, for the product behind it: the beginnings of what
// the product's first blocks will read, behind what they read by themselves before they wait.
#pragma once

#include "kernels/cuda/layout.h"

namespace paceline::kernels::cuda {

// Equal arguments are equal bytes: see Launches.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"

struct AheadOf {
  const char* values = nullptr;
  int32_t tiles = 0, parts = 0;  // that the first blocks have
  int32_t tile_bytes = 0, part_bytes = 0;
};

inline constexpr int32_t kMaxAhead = 4;
struct Ahead {
  AheadOf of[kMaxAhead];
  int32_t count = 0;
  int32_t bytes = 0;  // of each part of a tile
};

#pragma GCC diagnostic pop

}  // namespace paceline::kernels::cuda
