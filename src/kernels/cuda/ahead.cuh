// The device's side of ahead.h.
#pragma once

#include "kernels/cuda/ahead.h"
#include "kernels/cuda/device.cuh"

namespace paceline::kernels::cuda {

inline constexpr int32_t kReadAlone = 4096;  // what a warp of a narrow product reads before it waits

// One of so many threads' share. Prefetching is Hopper's; elsewhere nothing happens.
__device__ __forceinline__ void fetch_ahead(const Ahead& ahead, int32_t thread, int32_t threads) {
#if __CUDA_ARCH__ >= 900
  for (int32_t i = 0; i < ahead.count; ++i) {
    const AheadOf& of = ahead.of[i];
    for (int32_t piece = thread; piece < of.tiles * of.parts; piece += threads) {
      const int32_t tile = piece / of.parts, begin = piece % of.parts * of.part_bytes;
      const int32_t bytes = min(ahead.bytes, min(of.part_bytes, of.tile_bytes - begin) - kReadAlone);
      const char* from = of.values + static_cast<int64_t>(tile) * of.tile_bytes + begin + kReadAlone;
      if (bytes > 0) asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
    }
  }
#endif
}

}  // namespace paceline::kernels::cuda
