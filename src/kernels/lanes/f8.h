// E4M3 as bf16, bits to bits, without branches so that compilers use a set's vectors. Set: whose, so that no code is
// shared by files compiled for different processors.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/portable/matmul.h"
#include "tensor/matrix.h"

namespace paceline::kernels::lanes {

// Not of the two codes that are no numbers: loading refuses them.
template <class Set>
[[gnu::always_inline]] inline uint16_t bf16_of_e4m3(uint8_t v) {
  const auto k = static_cast<uint16_t>(v & 0x7f);
  // Below 8 there is no exponent: multiples of 2^-9.
  const auto one = static_cast<uint16_t>(k == 0 ? 0 : 0x3b00);
  const auto few = static_cast<uint16_t>(k < 2 ? one : 0x3b00 + (k << 6));
  const auto small = static_cast<uint16_t>(k < 4 ? few : 0x3b80 + (k << 5));
  const auto number = static_cast<uint16_t>(k < 8 ? small : 0x3c00 + (k << 4));
  return static_cast<uint16_t>(number | (v & 0x80) << 8);
}

template <class Set>
void widen_f8(const uint8_t* __restrict from, int64_t count, uint16_t* __restrict to) {
  for (int64_t i = 0; i < count; ++i) to[i] = bf16_of_e4m3<Set>(from[i]);
}

}  // namespace paceline::kernels::lanes
