// Philox4x32-10: random numbers as a pure function of a counter and a key (Salmon, Moraes, Dror, Shaw, "Parallel
// random numbers: as easy as 1, 2, 3", 2011). No state: who asks for number n gets number n, whatever was asked before.
#pragma once

#include <array>
#include <cstdint>

namespace paceline {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

constexpr PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  // Multipliers and key increments are those of the paper; the increments are the golden ratio and sqrt(3) - 1.
  constexpr uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kIncrement0 = 0x9E3779B9, kIncrement1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = kMultiplier0 * counter[0];
    const uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(product0)};
    key = {key[0] + kIncrement0, key[1] + kIncrement1};
  }
  return counter;
}

// Four words fixed by (seed, index, block, lane). The lane keeps apart the users of one (seed, index, block).
constexpr PhiloxCounter random_block(uint64_t seed, uint64_t index, uint32_t block, uint32_t lane) {
  return philox({block, static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), lane},
                {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
}

}  // namespace paceline
