// Floats in order, as integers; and sorting them.
#pragma once

#include <cstdint>

namespace paceline::kernels::cuda {

// Integers in the order of the floats they come from; both zeros are one. What is not a number has no place: 0 is below
// all that others get.
__device__ __forceinline__ uint32_t order_of(float value) {
  const uint32_t bits = __float_as_uint(value == 0.0f ? 0.0f : value);
  const uint32_t ordered = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
  return value != value ? 0 : ordered;
}
__device__ __forceinline__ float value_of(uint32_t order) {
  return __uint_as_float((order & 0x80000000u) != 0 ? order & 0x7fffffffu : ~order);
}

// A key that orders by value first and by lower place second; 0 for what is not a number.
__device__ __forceinline__ uint64_t key_of(float value, int32_t place) {
  const uint32_t order = order_of(value);
  return order == 0 ? 0 : static_cast<uint64_t>(order) << 32 | (0xffffffffu - static_cast<uint32_t>(place));
}
__device__ __forceinline__ int32_t place_of(uint64_t key) {
  return static_cast<int32_t>(0xffffffffu - static_cast<uint32_t>(key));
}
__device__ __forceinline__ float value_of_key(uint64_t key) { return value_of(static_cast<uint32_t>(key >> 32)); }

// The largest of a block's keys; every thread gets it. `scratch` [threads / 32].
__device__ __forceinline__ uint64_t block_max(uint64_t key, uint64_t* scratch) {
  for (int offset = 16; offset > 0; offset /= 2) key = max(key, __shfl_xor_sync(~0u, key, offset));
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = key;
  __syncthreads();
  for (unsigned i = 0; i < blockDim.x / 32; ++i) key = max(key, scratch[i]);
  return key;
}

// Sorts `count` keys of shared memory, a power of two, largest first; by all threads of a block.
__device__ inline void sort_keys(uint64_t* keys, int32_t count) {
  for (int32_t size = 2; size <= count; size *= 2)
    for (int32_t stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      for (int32_t i = static_cast<int32_t>(threadIdx.x); i < count / 2; i += static_cast<int32_t>(blockDim.x)) {
        const int32_t low = i / stride * stride * 2 + i % stride, high = low + stride;
        const bool falls = (low & size) == 0;
        const uint64_t a = keys[low], b = keys[high];
        if ((a < b) == falls) {
          keys[low] = b;
          keys[high] = a;
        }
      }
    }
  __syncthreads();
}

}  // namespace paceline::kernels::cuda
