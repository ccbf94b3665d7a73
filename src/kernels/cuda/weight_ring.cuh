// Weights on their way through shared memory. Each warp of a block reads a stretch of memory (or several side by side)
// once, from its beginning to its end, in chunks; as many as there are slots for are under way at any time, and none of
// them takes a register. What is asked for before wait_for_previous() keeps the memory busy where launches meet.
//
// A slot is there when all warps' chunks are: so warps stay together. Left to themselves they drift apart, and the
// whole device reads slower the longer their stretches are (measured: up to a third).
//
// The copy that one thread asks for is Hopper's; before that every lane copies its 16 bytes at a time.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/bulk_copy.cuh"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/layout.h"

namespace paceline::kernels::cuda {

// Clocks after a block's beginning in which its ring is filled gently: longer than most wait for the kernel in front.
inline constexpr int32_t kPatience = 10000;

// kChunks: bytes of a chunk of each stretch, multiples of 16. In a slot they lie one behind the other.
template <int32_t... kChunks>
class WeightRing {
 public:
  static constexpr int kStretches = sizeof...(kChunks);
  static constexpr int32_t kSlot = (kChunks + ...);
  // Of shared memory: the slots of one warp after the other's, then a barrier for every slot of all.
  PACELINE_BOTH static constexpr int32_t bytes_for(int32_t warps, int32_t slots) {
    return slots * (warps * kSlot + 16);
  }

  // Starts the first copy. All threads of the block make theirs; `has`: there is something for this warp.
  __device__ __forceinline__ WeightRing(uint32_t shared, int32_t warps, int32_t slots,
                                        const char* const (&from)[kStretches], int32_t chunks, bool has)
      : ring_(shared + static_cast<int32_t>(threadIdx.x / 32) * slots * kSlot),
        barriers_(shared + warps * slots * kSlot),
        slots_(slots),
        left_(chunks),
        has_(has) {
    began_ = clock64();
#pragma unroll
    for (int i = 0; i < kStretches; ++i) from_[i] = from[i];
    if (threadIdx.x == 0) {
      for (int32_t i = 0; i < slots; ++i) init_barrier(barriers_ + i * 8, warps * kComing);
      show_barriers();
    }
#if __CUDA_ARCH__ >= 900
    policy_ = once_policy();
#endif
    __syncthreads();
    fetch(0);
  }

  // Starts the others: each when the one in front of it has come, or when this block began so many clocks ago. A block
  // that waits for the kernel in front does not need them yet, and copies that fill the way to the memory would keep
  // the last blocks of that kernel from it (measured: a trip to the cache then takes 3 us instead of 1).
  __device__ __forceinline__ void fill(int32_t patience) {
    for (int32_t i = 1; i < slots_ && left_ > 0; ++i) {
      while (!is_over(barriers_ + (i - 1) * 8, 0) && clock64() - began_ < patience) continue;
      __syncwarp();
      fetch(i);
    }
  }

  // The shared address of the next chunks, once they are there.
  __device__ __forceinline__ uint32_t next() const {
    wait_barrier(barriers_ + slot_ * 8, phase_);
    return ring_ + slot_ * kSlot;
  }

  // This lane has used its share of them. Not earlier: the next copy goes another way than loads from shared memory,
  // and does not wait for those that are still on theirs; only an instruction that needs what they bring does.
  __device__ __forceinline__ void done() {
    __syncwarp();
    fetch(slot_);
    if (++slot_ < slots_) return;
    slot_ = 0;
    phase_ ^= 1;
  }

 private:
  // Arrivals of a warp at a slot's barrier.
#if __CUDA_ARCH__ >= 900
  static constexpr int32_t kComing = 1;
#else
  static constexpr int32_t kComing = 32;
#endif

  PACELINE_BOTH static constexpr int32_t chunk(int stretch) {
    constexpr int32_t kAll[] = {kChunks...};
    return kAll[stretch];
  }

  __device__ __forceinline__ void fetch(int32_t slot) {
    if (left_ <= 0) return;
    uint32_t to = ring_ + slot * kSlot;
    const uint32_t barrier = barriers_ + slot * 8;
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x % 32 == 0) {
      expect_bytes(barrier, has_ ? kSlot : 0);
      if (has_)
#pragma unroll
        for (int i = 0; i < kStretches; to += chunk(i), ++i) copy_bulk(to, from_[i], chunk(i), barrier, policy_);
    }
#else
    const int32_t lane = static_cast<int32_t>(threadIdx.x % 32) * 16;
#pragma unroll
    for (int i = 0; i < kStretches; to += chunk(i), ++i)
#pragma unroll
      for (int32_t at = 0; at < chunk(i); at += 512)
        if (at + lane < chunk(i)) copy16_async(to + at + lane, from_[i] + at + lane, has_);
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
#endif
#pragma unroll
    for (int i = 0; i < kStretches; ++i) from_[i] += chunk(i);
    --left_;
  }

  uint32_t ring_, barriers_;
  int32_t slots_, left_;  // left to fetch
  const char* from_[kStretches];
  bool has_;
  int64_t began_ = 0;
  int32_t slot_ = 0;
  uint32_t phase_ = 0;
#if __CUDA_ARCH__ >= 900
  uint64_t policy_ = 0;
#endif
};

}  // namespace paceline::kernels::cuda
