// How rows become bytes for q8 and q4 products: the same for whoever writes them. layout.h says where they lie.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/layout.h"

namespace paceline::kernels::cuda {

// Magnitudes are compared as bits: one instruction finds the largest of a warp, and what is not a number stays.
__device__ __forceinline__ uint32_t magnitude(float value) { return __float_as_uint(value) & 0x7fffffffu; }
__device__ __forceinline__ uint32_t warp_top(uint32_t magnitude_bits) { return __reduce_max_sync(~0u, magnitude_bits); }

// What the columns of a group share.
struct ByteScale {
  float inverse, scale;

  __device__ __forceinline__ explicit ByteScale(uint32_t top_bits) {
    const float top = __uint_as_float(top_bits);
    inverse = top > 0 ? __fdiv_rn(127.0f, top) : 0.0f;
    // Two bits less than a float has: its product with kIntegerZero is exact then.
    scale = __uint_as_float((__float_as_uint(__fdiv_rn(top, 127.0f)) + 2u) & ~3u);
  }
  __device__ __forceinline__ int32_t byte(float value) const { return __float2int_rn(value * inverse); }
  // Of a run, whose bytes have this sum.
  __device__ __forceinline__ float2 pair(int32_t sum) const {
    return make_float2(scale, scale * static_cast<float>(sum));
  }
};

__device__ __forceinline__ void put_byte(const ByteRows& to, int64_t row, int32_t col, int32_t byte) {
  to.values[row * to.stride + byte_place(col)] = static_cast<int8_t>(byte);
}
// Of the run that begins at this column.
__device__ __forceinline__ void put_pair(const ByteRows& to, int64_t row, int32_t col, const float2& pair) {
  reinterpret_cast<float2*>(to.scales)[row * (to.stride >> to.run_bits()) + (col >> to.run_bits())] = pair;
}

}  // namespace paceline::kernels::cuda
