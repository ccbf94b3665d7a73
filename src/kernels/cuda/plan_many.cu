// The plan of many rows' experts: the same slots in the same order as experts.cu's, by warps that share the slots and
// not the experts. Bound by one block's latencies: a few microseconds at 2048 rows of 8 ranks.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/rows.h"

namespace paceline::kernels::cuda {
namespace {

constexpr int kThreads = 1024, kWarps = kThreads / 32;

// From how many slots each expert has to where they begin, and the plan's list of touched experts. By all threads of
// the block, of which the first kMaxExperts bring their expert's slots. first [kMaxExperts] and warp_sums [kMaxExperts
// / 32] are shared memory; first is there for all afterwards.
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

// Every warp has some slots in a row: it counts them per expert, the counts are added up over warps and experts, and
// the warp then gives its slots their places in the order of rows.
__global__ void __launch_bounds__(kThreads) plan_many_kernel(const PlanArgs args) {
  __shared__ int32_t count[kWarps][kMaxExperts];  // then: how many of the expert's slots the warps before have
  __shared__ int32_t first[kMaxExperts], warp_sums[kMaxExperts / 32];
  let_next_start();
  const int32_t slots = args.rows * args.top, e = static_cast<int32_t>(threadIdx.x);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int32_t each = round_up(ceil_div(slots, kWarps), 32), warps = ceil_div(slots, each);
  for (int32_t i = e; i < warps * kMaxExperts; i += kThreads) count[i / kMaxExperts][i % kMaxExperts] = 0;
  wait_for_previous();
  __syncthreads();
  const int32_t begin = warp * each, end = min(slots, begin + each);
  for (int32_t i = begin + lane; i < end; i += 32) atomicAdd(&count[warp][args.chosen[i]], 1);
  __syncthreads();
  int32_t all = 0;
  if (e < kMaxExperts)
    for (int32_t w = 0; w < warps; ++w) {
      const int32_t here = count[w][e];
      count[w][e] = all;
      all += here;
    }
  scan_experts(all, args.plan, first, warp_sums);
  for (int32_t base = begin; base < end; base += 32) {
    const int32_t i = base + lane;
    const int32_t expert = i < end ? args.chosen[i] : -1;
    const uint32_t same = __match_any_sync(~0u, expert);
    const int32_t before = __popc(same & ((1u << lane) - 1));
    if (expert >= 0) {
      const int32_t at = first[expert] + count[warp][expert] + before;
      args.slot_row[at] = i / args.top;
      args.slot_of[i] = at;
    }
    __syncwarp();
    if (expert >= 0 && before == 0) count[warp][expert] += __popc(same);
    __syncwarp();
  }
}

}  // namespace

void plan_many_experts(const PlanArgs& args, Stream stream) {
  launch(plan_many_kernel, dim3(1), dim3(kThreads), 0, stream, true, args);
}

}  // namespace paceline::kernels::cuda
