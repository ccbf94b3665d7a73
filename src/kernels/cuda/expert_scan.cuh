// From how many slots each expert has to where they begin, and the plan's list of touched experts.
#pragma once

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/matmul.h"

namespace paceline::kernels::cuda {

// All threads of the block, of which the first kMaxExperts bring their expert's slots. first [kMaxExperts] and warp_sums
// [kMaxExperts / 32] are shared memory; first is there for all afterwards.
__device__ __forceinline__ void scan_experts(int32_t slots, ExpertPlan* plan, int32_t* first, int32_t* warp_sums) {
  // Slots in the low bits, touched experts in the high ones: both are added up at once.
  constexpr int32_t kTouched = 1 << 20;
  const auto e = static_cast<int32_t>(threadIdx.x);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int32_t mine = slots + (slots > 0 ? kTouched : 0);
  int32_t sum = mine;
  if (e < kMaxExperts) {
    for (int offset = 1; offset < 32; offset *= 2) {
      const int32_t below = __shfl_up_sync(~0u, sum, offset);
      if (lane >= offset) sum += below;
    }
    if (lane == 31) warp_sums[warp] = sum;
  }
  __syncthreads();
  if (e < kMaxExperts) {
    for (int i = 0; i < warp; ++i) sum += warp_sums[i];
    const int32_t in_front = sum - mine;
    first[e] = in_front % kTouched;
    if (slots > 0) {
      plan->expert[in_front / kTouched] = e;
      plan->first[in_front / kTouched] = in_front % kTouched;
    }
    if (e == kMaxExperts - 1) {
      plan->touched = sum / kTouched;
      plan->first[sum / kTouched] = sum % kTouched;
    }
  }
  __syncthreads();
}

}  // namespace paceline::kernels::cuda
