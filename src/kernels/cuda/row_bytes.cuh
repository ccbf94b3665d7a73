// How rows become bytes for q8 and q4 products: the same for whoever writes them. layout.h says where they lie.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/layout.h"
#include "kernels/cuda/quantised.cuh"

namespace paceline::kernels::cuda {

// Magnitudes are compared as bits: one instruction finds the largest of a warp, and what is not a number stays.
__device__ __forceinline__ uint32_t magnitude(float value) { return __float_as_uint(value) & 0x7fffffffu; }
__device__ __forceinline__ uint32_t warp_top(uint32_t magnitude_bits) { return __reduce_max_sync(~0u, magnitude_bits); }

// Of the 16 lanes of a half.
__device__ __forceinline__ uint32_t half_warp_top(uint32_t magnitude_bits) {
#pragma unroll
  for (int offset = 8; offset > 0; offset /= 2)
    magnitude_bits = max(magnitude_bits, __shfl_xor_sync(~0u, magnitude_bits, offset));
  return magnitude_bits;
}
__device__ __forceinline__ int32_t half_warp_sum(int32_t number) {
#pragma unroll
  for (int offset = 8; offset > 0; offset /= 2) number += __shfl_xor_sync(~0u, number, offset);
  return number;
}

// What the columns of a group share.
struct ByteScale {
  float inverse, scale;

  __device__ __forceinline__ explicit ByteScale(uint32_t top_bits) {
    const float top = __uint_as_float(top_bits);
    inverse = top > 0 ? __fdividef(127.0f, top) : 0.0f;
    // Two bits less than a float has: its product with kIntegerZero is exact then. What is not a number stays so.
    scale = __uint_as_float(min(__float_as_uint(top * (1.0f / 127.0f)) + 2u, 0x7fffffffu) & ~3u);
  }
  // The byte in the low bits of a word: added to kIntegerZero, a number is rounded to an integer that is read off its
  // bits.
  __device__ __forceinline__ uint32_t word(float value) const {
    return __float_as_uint(fmaf(value, inverse, kIntegerZero));
  }
  __device__ __forceinline__ int32_t byte(float value) const {
    return static_cast<int32_t>(word(value)) - kIntegerBits;
  }
  // Of a run, whose bytes have this sum.
  __device__ __forceinline__ float2 pair(int32_t sum) const {
    return make_float2(scale, scale * static_cast<float>(sum));
  }
};

// Four columns of a lane, of the 128 in a row that a warp has, as bytes; what their group and run share goes through
// the warp.
struct FourBytes {
  uint32_t bytes;
  float2 pair;  // of the run

  FourBytes() = default;
  __device__ __forceinline__ FourBytes(const float4& v, int32_t group) {
    uint32_t top = max(max(magnitude(v.x), magnitude(v.y)), max(magnitude(v.z), magnitude(v.w)));
#pragma unroll
    for (int32_t offset = 1; offset < 32; offset *= 2)
      if (offset < group / 4) top = max(top, __shfl_xor_sync(~0u, top, offset));
    const ByteScale scale(top);
    bytes = __byte_perm(__byte_perm(scale.word(v.x), scale.word(v.y), 0x0040),
                        __byte_perm(scale.word(v.z), scale.word(v.w), 0x0040), 0x5410);
    int32_t sum = __dp4a(static_cast<int32_t>(bytes), 0x01010101, 0);
#pragma unroll
    for (int32_t offset = 1; offset < 16; offset *= 2)
      if (offset < group / 4) sum += __shfl_xor_sync(~0u, sum, offset);
    pair = scale.pair(sum);
  }
};

__device__ __forceinline__ void put_byte(const ByteRows& to, int64_t row, int32_t col, int32_t byte) {
  to.values[row * to.stride + byte_place(to.group, col)] = static_cast<int8_t>(byte);
}
// Of the run that begins at this column.
__device__ __forceinline__ void put_pair(const ByteRows& to, int64_t row, int32_t col, const float2& pair) {
  reinterpret_cast<float2*>(to.scales)[row * (to.stride >> to.run_bits()) + (col >> to.run_bits())] = pair;
}
// Four neighbours from this column on.
__device__ __forceinline__ void put_four(const ByteRows& to, int64_t row, int32_t col, const FourBytes& four) {
  *reinterpret_cast<uint32_t*>(to.values + row * to.stride + byte_place(to.group, col)) = four.bytes;
  if ((col & ((1 << to.run_bits()) - 1)) == 0) put_pair(to, row, col, four.pair);
}

}  // namespace paceline::kernels::cuda
