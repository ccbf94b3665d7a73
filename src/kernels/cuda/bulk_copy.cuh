// Copies of whole stretches of memory into shared memory, which one thread asks for, and barriers that say when they
// are there. Hopper's; without it there are only barriers.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace paceline::kernels::cuda {

// By one thread, and then seen by all behind a __syncthreads().
__device__ __forceinline__ void init_barrier(uint32_t barrier, int32_t arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void show_barriers() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

__device__ __forceinline__ void arrive(uint32_t barrier) {
  asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(barrier) : "memory");
}

// Whether the phase of this parity is over.
__device__ __forceinline__ bool is_over(uint32_t barrier, uint32_t parity) {
  uint32_t over;
  asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.parity.shared.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
               : "=r"(over)
               : "r"(barrier), "r"(parity)
               : "memory");
  return over != 0;
}
// Until it is.
__device__ __forceinline__ void wait_barrier(uint32_t barrier, uint32_t parity) {
#if __CUDA_ARCH__ >= 900
  uint32_t over = 0;
  while (over == 0)
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(over)
                 : "r"(barrier), "r"(parity)
                 : "memory");
#else
  while (!is_over(barrier, parity)) continue;
#endif
}

#if __CUDA_ARCH__ >= 900
// Arrives, and says that so many bytes will.
__device__ __forceinline__ void expect_bytes(uint32_t barrier, int32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
// Multiples of 16 bytes, from and to such places.
__device__ __forceinline__ void copy_bulk(uint32_t to, const void* from, int32_t bytes, uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}
// Of what passes by once: it takes no room in the cache from others.
__device__ __forceinline__ uint64_t once_policy() {
  uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
__device__ __forceinline__ void copy_bulk(uint32_t to, const void* from, int32_t bytes, uint32_t barrier,
                                          uint64_t policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::
          "r"(to),
      "l"(from), "r"(bytes), "r"(barrier), "l"(policy)
      : "memory");
}
#endif

// Which of a few rows this thread asks for, in a block of four warps of which the first has other things to do;
// negative: none. One thread asks for one copy after another: three warps together are faster.
__device__ __forceinline__ int32_t row_to_copy() {
  const int32_t warp = static_cast<int32_t>(threadIdx.x / 32), lane = static_cast<int32_t>(threadIdx.x % 32);
  return lane * 3 + warp - 1 - (warp == 0 ? 3 * 32 : 0);
}

// Buffers of shared memory that are filled by turns: all but one of them may be on their way while that one is used.
// Without bulk copies, small ones have as many groups on their way, empty ones where there is nothing to copy.
template <int kBuffers>
class FilledBuffers {
 public:
  // By all threads, with a __syncthreads() before anything else is done with them.
  __device__ __forceinline__ explicit FilledBuffers(uint64_t (&barriers)[kBuffers])
      : barriers_(static_cast<uint32_t>(__cvta_generic_to_shared(barriers))) {
    if (threadIdx.x > 0) return;
#pragma unroll
    for (int i = 0; i < kBuffers; ++i) init_barrier(barriers_ + i * 8, 1);
  }
  [[nodiscard]] __device__ __forceinline__ uint32_t barrier(int32_t buffer) const { return barriers_ + buffer * 8; }
  // For the next of them that is on its way; which one it is.
  __device__ __forceinline__ int32_t next() {
    const int32_t buffer = next_;
#if __CUDA_ARCH__ >= 900
    wait_barrier(barrier(buffer), phase_);
#else
    asm volatile("cp.async.wait_group %0;" ::"n"(kBuffers - 2) : "memory");
#endif
    if (++next_ == kBuffers) {
      next_ = 0;
      phase_ ^= 1;
    }
    return buffer;
  }

 private:
  uint32_t barriers_;
  uint32_t phase_ = 0;
  int32_t next_ = 0;
};

}  // namespace paceline::kernels::cuda
