// Blocks of K of a tile as they lie in memory, 16 outputs by 64 columns, and the fragments of bf16 that they become in
// registers: four, of 16 columns each.
//   bf16: [step][lane][16], the fragments themselves
//   f8: [two steps][lane][16]: a word has the lane's numbers of both outputs, g in its bytes 1 and 3 and g + 8 in 0 and 2
//   f4: [lane][16], a word of each step; then scales, bf16 [g][step][outputs g, g + 8]. In each half of a word the four
//       numbers of a step lie so that a shift brings sign, exponent and fraction to where bf16 has them: at bits
//       {15, 8, 7, 6}, {12, 5, 4, 3}, {9, 2, 1, 0} and {14, 13, 11, 10}.
// E4M3 has 4 significant bits, and the product of E2M1 and E4M3 has 6: bf16 holds both.
#pragma once

#include <cuda_bf16.h>

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/layout.h"

namespace paceline::kernels::cuda {

__device__ __forceinline__ uint32_t times_bf16(uint32_t two, uint32_t by) {
  const __nv_bfloat162 product =
      __hmul2(*reinterpret_cast<const __nv_bfloat162*>(&two), *reinterpret_cast<const __nv_bfloat162*>(&by));
  return *reinterpret_cast<const uint32_t*>(&product);
}

// Two numbers of E4M3 in the upper bytes of both halves.
__device__ __forceinline__ uint32_t bf16_of_f8(uint32_t word) {
  constexpr uint32_t kBias = 0x7b807b80u;  // 2^120, the difference of the exponents' biases, twice
  return times_bf16((word >> 4 & 0x07f007f0u) | (word & 0x80008000u), kBias);
}

// The i-th numbers of both halves of a word of f4, 2^126 times smaller than they are.
__device__ __forceinline__ uint32_t raw_f4(uint32_t word, int i) {
  constexpr uint32_t kMask = 0x81c081c0u;
  if (i == 0) return word & kMask;
  if (i == 1) return word << 3 & kMask;
  if (i == 2) return word << 6 & kMask;
  return (word << 1 & 0x80008000u) | (word >> 5 & 0x01000100u) | (word >> 4 & 0x00c000c0u);
}
// Where bit b of number i of a half lies; b: sign, two bits of exponent, fraction.
PACELINE_BOTH constexpr int32_t f4_bit(int32_t i, int32_t b) {
  constexpr int32_t kPlaces[4][4] = {{15, 8, 7, 6}, {12, 5, 4, 3}, {9, 2, 1, 0}, {14, 13, 11, 10}};
  return kPlaces[i][b];
}

// four(offset): 16 bytes of the chunk.
struct Bf16Chunk {
  static constexpr Format kFormat = Format::bf16;
  template <class Four>
  __device__ __forceinline__ static void read(int lane, uint4 (&a)[4], const Four& four) {
#pragma unroll
    for (int i = 0; i < 4; ++i) a[i] = four(i * 512 + lane * 16);
  }
};

struct F8Chunk {
  static constexpr Format kFormat = Format::f8;
  template <class Four>
  __device__ __forceinline__ static void read(int lane, uint4 (&a)[4], const Four& four) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const uint4 v = four(i * 512 + lane * 16);
      a[i * 2] = make_uint4(bf16_of_f8(v.x), bf16_of_f8(v.x << 8), bf16_of_f8(v.y), bf16_of_f8(v.y << 8));
      a[i * 2 + 1] = make_uint4(bf16_of_f8(v.z), bf16_of_f8(v.z << 8), bf16_of_f8(v.w), bf16_of_f8(v.w << 8));
    }
  }
};

struct F4Chunk {
  static constexpr Format kFormat = Format::f4;
  template <class Four>
  __device__ __forceinline__ static void read(int lane, uint4 (&a)[4], const Four& four) {
    const uint4 v = four(lane * 16), s = four(512 + lane / 4 * 16);
    const uint32_t words[4] = {v.x, v.y, v.z, v.w}, scales[4] = {s.x, s.y, s.z, s.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t g = __byte_perm(scales[i], 0, 0x1010), g8 = __byte_perm(scales[i], 0, 0x3232);
      a[i] = make_uint4(times_bf16(raw_f4(words[i], 0), g), times_bf16(raw_f4(words[i], 1), g8),
                        times_bf16(raw_f4(words[i], 2), g), times_bf16(raw_f4(words[i], 3), g8));
    }
  }
};

}  // namespace paceline::kernels::cuda
