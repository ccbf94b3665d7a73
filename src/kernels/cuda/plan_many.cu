// The plan of many rows' experts: the same slots in the same order as experts.cu's, by warps that share the slots and
// not the experts. Bound by one block's latencies: a few microseconds at 2048 rows of 8 ranks.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/expert_scan.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/rows.h"

namespace paceline::kernels::cuda {
namespace {

constexpr int kThreads = 1024, kWarps = kThreads / 32;

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
