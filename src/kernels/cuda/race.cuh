// Sampling as a race: see sample/choose.h. What is drawn for a token depends on seed, output index and id alone.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/philox.h"

namespace paceline::kernels::cuda {

struct Racer {
  double time = INFINITY;
  int32_t id = -1;

  __device__ void meet(double other_time, int32_t other_id) {
    if (other_id < 0 || other_time > time || (other_time == time && id >= 0 && other_id >= id)) return;
    time = other_time;
    id = other_id;
  }
};

// As the host's Race: exponential times divided by weights, of which the smallest wins.
__device__ inline void race(Racer& best, uint64_t seed, uint64_t index, int32_t id, double weight) {
  constexpr double kTwoToMinus32 = 0x1p-32;
  const uint32_t block = static_cast<uint32_t>(id) / 4, word = static_cast<uint32_t>(id) % 4;
  const uint32_t high = random_block(seed, index, block, 0)[word];
  if (static_cast<double>(high) * kTwoToMinus32 > best.time * weight) return;
  const uint32_t low = random_block(seed, index, block, 1)[word];
  const double v = (static_cast<double>(high) + (static_cast<double>(low >> 12) + 0.5) * 0x1p-20) * kTwoToMinus32;
  best.meet(-log1p(-v) / weight, id);
}

}  // namespace paceline::kernels::cuda
