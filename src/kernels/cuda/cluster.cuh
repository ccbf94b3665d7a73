// Blocks of a cluster that look into each other's shared memory. Hopper's; elsewhere there are no clusters.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define PACELINE_CLUSTER(blocks) __cluster_dims__(blocks, 1, 1)
#else
#define PACELINE_CLUSTER(blocks)
#endif

namespace paceline::kernels::cuda {

// For all threads of all blocks; what was written before is seen behind it.
__device__ __forceinline__ void cluster_barrier() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// Four floats at a block's place of this block's shared address.
__device__ __forceinline__ float4 load_of_block(uint32_t address, uint32_t block) {
  float4 v = make_float4(0, 0, 0, 0);
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %4, %5;\n"
      "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [there];\n}"
      : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
      : "r"(address), "r"(block)
      : "memory");
#endif
  return v;
}

}  // namespace paceline::kernels::cuda
