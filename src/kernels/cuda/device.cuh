// What device code is made of: tensor-core instructions, copies into shared memory, the functions that every kernel
// shares so that each has one arithmetic.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <bit>
#include <cstdint>

namespace paceline::kernels::cuda {

// d += a b, a 16x16 (rows), b 16x8 (columns), bf16 with float32 sums.
__device__ __forceinline__ void mma_bf16(float (&d)[4], const uint4& a, uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}

__device__ __forceinline__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// Four 8x8 matrices of 16-bit elements.
__device__ __forceinline__ void ldmatrix4(uint32_t address, uint32_t& a, uint32_t& b, uint32_t& c, uint32_t& d) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
               : "r"(address));
}

// The same, each turned: a row in memory is a column of its matrix.
__device__ __forceinline__ void ldmatrix4_turned(uint32_t address, uint32_t& a, uint32_t& b, uint32_t& c, uint32_t& d) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
               : "r"(address));
}

// 16 bytes into shared memory; zeros where `take` is false.
__device__ __forceinline__ void copy16_async(uint32_t to, const void* from, bool take) {
  const int bytes = take ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kLeft>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

// From shared memory, in the order written: the compiler would fetch all that a long loop reads at its beginning.
__device__ __forceinline__ uint4 shared_four(uint32_t address) {
  uint4 v;
  asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(address));
  return v;
}
__device__ __forceinline__ float2 shared_pair(uint32_t address) {
  float2 v;
  asm volatile("ld.shared.v2.f32 {%0,%1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(address));
  return v;
}

// Weights pass by once: they are not kept in L1.
__device__ __forceinline__ uint4 load_once(const void* p) {
  uint4 v;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p));
  return v;
}

__device__ __forceinline__ float2 load_pair(const void* p) {
  float2 v;
  asm volatile("ld.global.nc.v2.f32 {%0,%1}, [%2];" : "=f"(v.x), "=f"(v.y) : "l"(p));
  return v;
}

__device__ __forceinline__ uint4 load_four(const void* p) {
  uint4 v;
  asm volatile("ld.global.nc.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
  return v;
}

// A kernel that was launched early waits here for the one before it to be done; what it may touch before is weights
// only. Does nothing where it was launched as usual.
__device__ __forceinline__ void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ __forceinline__ void let_next_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

__device__ __forceinline__ float bf16_bits_to_float(uint32_t bits) { return __uint_as_float(bits << 16); }
__device__ __forceinline__ uint32_t pack_bf16(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

// What a gate goes through: gelu in its tanh form, tanh(u) = 1 - 2 / (exp(2u) + 1), exact at both ends; or silu,
// a / (1 + exp(-a)). One exponential and one division whichever it is: wide products have many gates on their way.
__device__ __forceinline__ float gate(int32_t silu, float a) {
  const float u = 0.7978845608028654f * fmaf(0.044715f * a * a, a, a);
  const float part = __fdividef(silu ? a : 2.0f, __expf(silu ? -a : 2.0f * u) + 1.0f);
  return silu ? part : 0.5f * a * (1.0f + (1.0f - part));
}

__device__ __forceinline__ float warp_sum(float x) {
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(~0u, x, offset);
  return x;
}

// The sum over a block of kThreads, in an order fixed by kThreads; every thread gets it. `scratch` is used for nothing
// else, not for another sum either.
template <int kThreads>
__device__ __forceinline__ float block_sum(float x, float (&scratch)[kThreads / 32]) {
  constexpr int kWarps = kThreads / 32, kLanes = std::bit_ceil(unsigned{kWarps});
  x = warp_sum(x);
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = x;
  __syncthreads();
  const auto lane = static_cast<int32_t>(threadIdx.x % kLanes);
  float sum = lane < kWarps ? scratch[lane] : 0.0f;
  for (int offset = kLanes / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
  return sum;
}

}  // namespace paceline::kernels::cuda
