// Weights through shared memory, a warp's own: so many steps on their way as there are slots, without registers. On
// Hopper one lane asks for whole steps at once; on older devices each lane copies 16 bytes at a time.
#pragma once

#include "kernels/cuda/device.cuh"

namespace paceline::kernels::cuda {

// `slots` holds kSlots steps of the warp, `full` a barrier per slot. Steps are asked for and taken in order.
template <class Step, int kSlots>
struct BulkRing {
  uint32_t slots, full;
  const char* values;
  const char* scales;

  // `values`, `scales`: of step 0, the tile's.
  __device__ __forceinline__ BulkRing(uint32_t slots_at, uint32_t full_at, const char* from, const char* scales_from)
      : slots(slots_at), full(full_at), values(from), scales(scales_from) {
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x % 32 == 0) {
#pragma unroll
      for (int i = 0; i < kSlots; ++i)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(full + i * 8) : "memory");
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncwarp();
#endif
  }

  __device__ __forceinline__ void ask(int32_t step, int slot, int32_t steps) const {
    const uint32_t to = slots + slot * Step::kSharedBytes;
    const char* from = values + static_cast<int64_t>(step) * Step::kBytes;
    const char* scales_from = scales + static_cast<int64_t>(step) * Step::kScaleBytes;
#if __CUDA_ARCH__ >= 900
    if (step >= steps || threadIdx.x % 32 != 0) return;
    const uint32_t barrier = full + slot * 8;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(Step::kSharedBytes)
                 : "memory");
    bulk_copy(to, from, Step::kBytes, barrier);
    bulk_copy(to + Step::kBytes, scales_from, Step::kScaleBytes, barrier);
#else
    const int lane = threadIdx.x % 32;
    if (step < steps) {
#pragma unroll
      for (int i = 0; i < Step::kLoads; ++i) copy16_async(to + lane * 16 + i * 512, from + lane * 16 + i * 512, true);
      if (lane < Step::kScaleBytes / 16) copy16_async(to + Step::kBytes + lane * 16, scales_from + lane * 16, true);
    }
    commit_copies();
#endif
  }

  // The step in `slot`, for the `turn`th time.
  __device__ __forceinline__ void take(Step& step, int slot, int32_t turn) const {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "{\n.reg .pred p;\nW%=:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra D%=;\nbra "
        "W%=;\nD%=:\n}" ::"r"(full + slot * 8),
        "r"(turn & 1)
        : "memory");
#else
    wait_copies<kSlots - 1>();
    __syncwarp();
#endif
    step.read(slots + slot * Step::kSharedBytes);
    __syncwarp();
  }

 private:
  static __device__ __forceinline__ void bulk_copy(uint32_t to, const char* from, int bytes, uint32_t barrier) {
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
#endif
  }
};

}  // namespace paceline::kernels::cuda
