// A fixed pattern of signs: pseudo-random, and a function of its arguments alone.
#pragma once

#include <cstdint>
#include <vector>

#include "base/philox.h"

namespace paceline {

// The pattern of `count` signs that `version` names, -1 or 1 each.
inline std::vector<float> sign_pattern(uint32_t version, uint32_t count) {
  constexpr uint32_t kBits = 128;  // of a block of random words
  std::vector<float> signs(count);
  for (uint32_t first = 0; first < count; first += kBits) {
    const PhiloxCounter words = philox({first / kBits, 0, 0, 0}, {version, count});
    for (uint32_t i = 0; i < kBits && first + i < count; ++i)
      signs[first + i] = ((words[i / 32] >> i % 32) & 1u) != 0 ? -1.0f : 1.0f;
  }
  return signs;
}

}  // namespace paceline
