// Weights on their way through shared memory. Each warp of a block reads a stretch of memory once, from its beginning
// to its end, in chunks; as many as there are slots for are under way at any time, and none of them takes a register.
// What is asked for before wait_for_previous() keeps the memory busy where launches meet.
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

// kChunk: bytes of a chunk, a multiple of 16.
template <int32_t kChunk>
class WeightRing {
 public:
  static constexpr int32_t kWarps = 4;
  // What warps tell each other before the first chunk is used, in shared memory.
  struct Beginning {
    const char* from[kWarps];  // none: there is nothing for this warp
    uint64_t ended;            // a barrier: the kernel in front has
  };
  // Of shared memory: the slots of one warp after the other's, then a barrier for every slot of all.
  PACELINE_BOTH static constexpr int32_t bytes_for(int32_t slots) { return slots * (kWarps * kChunk + 16); }

  // All threads of the block make theirs; `has`: there is something for this warp.
  __device__ __forceinline__ WeightRing(uint32_t shared, int32_t slots, const char* from, int32_t chunks, bool has,
                                        Beginning& beginning)
      : rings_(shared),
        barriers_(shared + kWarps * slots * kChunk),
        slots_(slots),
        chunks_(chunks),
        from_(has ? from : nullptr) {
    if (threadIdx.x % 32 == 0) beginning.from[warp()] = from_;
    if (threadIdx.x == 0) {
      init_barrier(shared_address(&beginning.ended), 1);
      for (int32_t i = 0; i < slots; ++i) init_barrier(barriers_ + i * 8, kWarps * kComing);
      show_barriers();
    }
#if __CUDA_ARCH__ >= 900
    policy_ = once_policy();
#endif
    __syncthreads();
  }

  // Starts the first copies, and waits for the kernel in front. While that one runs, those of a slot start when the
  // slot in front has come: they are not needed yet, and what fills the way to the memory keeps the last blocks of that
  // kernel from it (measured: a trip to the cache then takes 3 us instead of 1, and a kernel ends with three of them).
  // As soon as it has ended, all start. The first warp does this for all of them, so that the others can wait; those
  // then call `begin`. at_once: it has most likely ended already. Without bulk copies all warps call `begin`.
  template <class Begin>
  __device__ __forceinline__ void fill(Beginning& beginning, bool at_once, const Begin& begin) {
    const int32_t first = min(slots_, chunks_);
#if __CUDA_ARCH__ >= 900
    const uint32_t ended = shared_address(&beginning.ended);
    if (at_once)
      while (fetched_ < first) fetch(fetched_);
    if (warp() == 0) {
      const auto other = static_cast<int32_t>(threadIdx.x);  // the warp that this lane works for
      for (; fetched_ < first; ++fetched_) {
        while (fetched_ > 0 && !is_over(ended, 0) && !is_over(barriers_ + (fetched_ - 1) * 8, 0)) continue;
        if (other < kWarps) copy(other, fetched_, beginning.from[other], fetched_);
      }
      wait_for_previous();
    } else {
      wait_for_previous();
      if (threadIdx.x == 32) arrive(ended);
      begin();
    }
    fetched_ = first;
#else
    while (fetched_ < first) fetch(fetched_);
    wait_for_previous();
    begin();
#endif
  }

  // The shared address of the next chunks, once they are there.
  __device__ __forceinline__ uint32_t next() const {
    wait_barrier(barriers_ + slot_ * 8, phase_);
    return place(warp(), slot_);
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

  static __device__ __forceinline__ int32_t warp() { return static_cast<int32_t>(threadIdx.x / 32); }
  [[nodiscard]] __device__ __forceinline__ uint32_t place(int32_t of_warp, int32_t slot) const {
    return rings_ + (of_warp * slots_ + slot) * kChunk;
  }

  __device__ __forceinline__ void fetch(int32_t slot) {
    if (fetched_ >= chunks_) return;
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x % 32 == 0) copy(warp(), slot, from_, fetched_);
#else
    const int32_t lane = static_cast<int32_t>(threadIdx.x % 32) * 16;
    const char* from = from_ + static_cast<int64_t>(fetched_) * kChunk;
#pragma unroll
    for (int32_t at = lane; at < kChunk; at += 512)
      if (from_ != nullptr) copy16_async(place(warp(), slot) + at, from + at, true);
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barriers_ + slot * 8) : "memory");
#endif
    ++fetched_;
  }

#if __CUDA_ARCH__ >= 900
  // A warp's chunk of this number, by one thread.
  __device__ __forceinline__ void copy(int32_t of_warp, int32_t slot, const char* from, int32_t number) {
    const uint32_t barrier = barriers_ + slot * 8;
    expect_bytes(barrier, from != nullptr ? kChunk : 0);
    if (from == nullptr) return;
    copy_bulk(place(of_warp, slot), from + static_cast<int64_t>(number) * kChunk, kChunk, barrier, policy_);
  }

  uint64_t policy_ = 0;
#endif
  uint32_t rings_, barriers_;
  int32_t slots_, chunks_, fetched_ = 0;
  const char* from_;  // none: there is nothing for this warp
  int32_t slot_ = 0;
  uint32_t phase_ = 0;
};

}  // namespace paceline::kernels::cuda
