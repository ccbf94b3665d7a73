// Quantised weights on their way through shared memory. A warp takes its tiles of 16 outputs step by step (128 columns,
// values and scales); as many steps as there are slots for are under way at any time, and none of them takes a
// register. What is asked for before wait_for_previous() keeps the memory busy where launches meet.
//
// The copy that one thread asks for is Hopper's; before that every lane copies 16 bytes at a time.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/layout.h"

#if __CUDA_ARCH__ >= 900 && !defined(PACELINE_RING_LANES)
#define PACELINE_RING_BULK 1
#endif

namespace paceline::kernels::cuda {

// Where a tile's steps begin.
struct TileStart {
  const char* values;
  const char* scales;
};

template <class Step, int kTiles>
class StepRing {
 public:
  static constexpr int32_t kValues = kTiles * Step::kBytes, kScales = kTiles * Step::kScaleBytes;
  static constexpr int32_t kSlot = kValues + kScales;
  // Of shared memory, for the rings of so many warps, one behind the other with their barriers at the end.
  PACELINE_BOTH static constexpr int32_t bytes_for(int32_t warps, int32_t slots) { return warps * slots * (kSlot + 8); }

  // Starts the first copies.
  __device__ __forceinline__ StepRing(uint32_t shared, int32_t warp, int32_t warps, int32_t slots,
                                      const TileStart (&from)[kTiles], int32_t steps)
      : ring_(shared + warp * slots * kSlot),
        barriers_(shared + warps * slots * kSlot + warp * slots * 8),
        slots_(slots),
        left_(steps) {
    const int32_t lane = static_cast<int32_t>(threadIdx.x % 32);
#if defined(PACELINE_RING_BULK)
    constexpr int32_t kComing = 1;
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
      values_[m] = from[m].values;
      scales_[m] = from[m].scales;
    }
#else
    constexpr int32_t kComing = 32;
#pragma unroll
    for (int m = 0; m < kTiles; ++m) values_[m] = from[m].values + lane * 16;
#pragma unroll
    for (int i = 0; i < kScaleCopies; ++i) {
      const int32_t at = (i * 32 + lane) * 16;
      scales_[i] = from[0].scales + at % Step::kScaleBytes;
#pragma unroll
      for (int m = 1; m < kTiles; ++m)
        if (at / Step::kScaleBytes == m) scales_[i] = from[m].scales + at % Step::kScaleBytes;
    }
#endif
    if (lane == 0) {
      for (int32_t i = 0; i < slots; ++i)
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barriers_ + i * 8), "r"(kComing) : "memory");
#if __CUDA_ARCH__ >= 900
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
    }
    __syncwarp();
    for (int32_t i = 0; i < slots; ++i) fetch(i);
  }

  // The next step of the tiles, once it is there; its slot is filled anew.
  __device__ __forceinline__ void take(Step (&step)[kTiles]) {
    wait();
    const int32_t lane = static_cast<int32_t>(threadIdx.x % 32);
    const uint32_t at = ring_ + slot_ * kSlot;
#pragma unroll
    for (int m = 0; m < kTiles; ++m)
      step[m].read(at + m * Step::kBytes + lane * 16,
                   at + kValues + m * Step::kScaleBytes + lane / 4 * (Step::kScaleWords * 4));
    __syncwarp();
    fetch(slot_);
    if (++slot_ < slots_) return;
    slot_ = 0;
    phase_ ^= 1;
  }

 private:
  static constexpr int32_t kScaleCopies = (kScales + 511) / 512;  // of 16 bytes a lane

  __device__ __forceinline__ void wait() const {
    const uint32_t barrier = barriers_ + slot_ * 8;
    uint32_t there = 0;
    do {
#if __CUDA_ARCH__ >= 900
      asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                   : "=r"(there)
                   : "r"(barrier), "r"(phase_)
                   : "memory");
#else
      asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.parity.shared.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                   : "=r"(there)
                   : "r"(barrier), "r"(phase_)
                   : "memory");
#endif
    } while (there == 0);
  }

  __device__ __forceinline__ void fetch(int32_t slot) {
    if (left_ <= 0) return;
    --left_;
    const uint32_t to = ring_ + slot * kSlot, barrier = barriers_ + slot * 8;
    const int32_t lane = static_cast<int32_t>(threadIdx.x % 32);
#if defined(PACELINE_RING_BULK)
    if (lane == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "n"(kSlot) : "memory");
#pragma unroll
      for (int m = 0; m < kTiles; ++m) {
        copy_bulk<Step::kBytes>(to + m * Step::kBytes, values_[m], barrier);
        copy_bulk<Step::kScaleBytes>(to + kValues + m * Step::kScaleBytes, scales_[m], barrier);
      }
    }
#else
#pragma unroll
    for (int m = 0; m < kTiles; ++m)
#pragma unroll
      for (int32_t i = 0; i < Step::kBytes; i += 512)
        copy16_async(to + m * Step::kBytes + i + lane * 16, values_[m] + i, true);
#pragma unroll
    for (int32_t i = 0; i < kScaleCopies; ++i)
      if ((i * 32 + lane) * 16 < kScales) copy16_async(to + kValues + (i * 32 + lane) * 16, scales_[i], true);
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
#endif
#pragma unroll
    for (int m = 0; m < kTiles; ++m) values_[m] += Step::kBytes;
#pragma unroll
    for (int i = 0; i < kScaleStreams; ++i) scales_[i] += Step::kScaleBytes;
  }

#if defined(PACELINE_RING_BULK)
  template <int32_t kBytes>
  __device__ static __forceinline__ void copy_bulk(uint32_t to, const char* from, uint32_t barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "n"(kBytes), "r"(barrier)
                 : "memory");
  }
  static constexpr int32_t kScaleStreams = kTiles;
#else
  static constexpr int32_t kScaleStreams = kScaleCopies;
#endif

  uint32_t ring_, barriers_;
  int32_t slots_, left_;  // left to fetch
  const char* values_[kTiles];
  const char* scales_[kScaleStreams];
  int32_t slot_ = 0;
  uint32_t phase_ = 0;
};

}  // namespace paceline::kernels::cuda
