// Floats that one block leaves for another, of the same launch or of the one behind it. There is no lock and no count:
// a place holds kNothing until it holds a value, and whoever takes the value puts kNothing back, so that the memory is
// ready for the next launch. This takes one trip to the cache where a fence, a count and a read would take three.
//
// Only a later block may wait for an earlier one: blocks start in their order, so the earlier one runs already. Blocks
// of the next launch start when all of this one have called let_next_start(). Where they look, this is not before
// wait_for_previous(): else they could start so early that they find what was left for a launch before them, and is not
// taken yet.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/layout.h"

namespace paceline::kernels::cuda {

inline constexpr uint32_t kNothing = kNothingByte * 0x01010101u;

__device__ __forceinline__ bool is_there(float v) { return __float_as_uint(v) != kNothing; }
__device__ __forceinline__ bool is_there(const float2& v) { return is_there(v.x) && is_there(v.y); }
__device__ __forceinline__ bool is_there(const float4& v) {
  return is_there(v.x) && is_there(v.y) && is_there(v.z) && is_there(v.w);
}

__device__ __forceinline__ void leave(float* to, const float4& v) {
  asm volatile("st.relaxed.gpu.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w)
               : "memory");
}
__device__ __forceinline__ void leave(float* to, const float2& v) {
  asm volatile("st.relaxed.gpu.global.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(v.x), "f"(v.y) : "memory");
}
__device__ __forceinline__ void leave(float* to, float v) {
  asm volatile("st.relaxed.gpu.global.f32 [%0], %1;" ::"l"(to), "f"(v) : "memory");
}
__device__ __forceinline__ float4 look(const float* from) {
  float4 v;
  asm volatile("ld.relaxed.gpu.global.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(from)
               : "memory");
  return v;
}
__device__ __forceinline__ float2 look_pair(const float* from) {
  float2 v;
  asm volatile("ld.relaxed.gpu.global.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "l"(from) : "memory");
  return v;
}
__device__ __forceinline__ float look_one(const float* from) {
  float v;
  asm volatile("ld.relaxed.gpu.global.f32 %0, [%1];" : "=f"(v) : "l"(from) : "memory");
  return v;
}
// Between two looks. What is looked for comes within a launch; where it does not for seconds, it never will, and a
// fault is better than a device that hangs.
class Patience {
 public:
  __device__ __forceinline__ void rest() {
    __nanosleep(64);
    if (++looks_ == kMostLooks) __trap();
  }

 private:
  static constexpr uint32_t kMostLooks = 1u << 25;
  uint32_t looks_ = 0;
};

__device__ __forceinline__ void take_away(float* from) {
  const float nothing = __uint_as_float(kNothing);
  leave(from, make_float4(nothing, nothing, nothing, nothing));
}
__device__ __forceinline__ void take_away_pair(float* from) {
  const float nothing = __uint_as_float(kNothing);
  leave(from, make_float2(nothing, nothing));
}
__device__ __forceinline__ void take_away_one(float* from) { leave(from, __uint_as_float(kNothing)); }

}  // namespace paceline::kernels::cuda
