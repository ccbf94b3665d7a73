// The router's choice, which rows each expert gets, and the sum of the experts' outputs. The products themselves are
// matmul's, over the plan made here. Bound by launches: a few kilobytes.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/dots.cuh"
#include "kernels/cuda/expert_scan.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/rows.h"

namespace paceline::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// A warp chooses for a row. Scores up to 8 per lane.
__device__ void route_row(const RouteArgs& args, int32_t row) {
  const int lane = threadIdx.x % 32;
  const float* scores = args.scores + static_cast<int64_t>(row) * args.experts;
  float mine[kMaxExperts / 32];
  float top = -INFINITY;
#pragma unroll
  for (int i = 0; i < kMaxExperts / 32; ++i) {
    const int32_t e = i * 32 + lane;
    mine[i] = e < args.experts ? __ldcg(scores + e) : -INFINITY;
    top = fmaxf(top, mine[i]);
  }
  for (int offset = 16; offset > 0; offset /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, offset));
#pragma unroll
  for (int i = 0; i < kMaxExperts / 32; ++i) mine[i] = i * 32 + lane < args.experts ? __expf(mine[i] - top) : -1.0f;
  float sum = 0;
  for (int32_t rank = 0; rank < args.top; ++rank) {
    float best = -2.0f;
    int32_t place = kMaxExperts;
#pragma unroll
    for (int i = 0; i < kMaxExperts / 32; ++i)
      if (mine[i] > best) {
        best = mine[i];
        place = i * 32 + lane;
      }
    for (int offset = 16; offset > 0; offset /= 2) {
      const float other = __shfl_xor_sync(~0u, best, offset);
      const int32_t other_place = __shfl_xor_sync(~0u, place, offset);
      if (other > best || (other == best && other_place < place)) {
        best = other;
        place = other_place;
      }
    }
    sum += best;
#pragma unroll
    for (int i = 0; i < kMaxExperts / 32; ++i)
      if (i * 32 + lane == place) mine[i] = -1.0f;
    if (lane == 0) {
      args.chosen[row * args.top + rank] = place;
      args.share[row * args.top + rank] = best;
    }
  }
  __syncwarp();
  if (lane < args.top)
    args.share[row * args.top + lane] *= __fdiv_rn(args.expert_scale[args.chosen[row * args.top + lane]], sum);
}

__global__ void route_kernel(const RouteArgs args) {
  let_next_start();
  wait_for_previous();
  const int32_t row = static_cast<int32_t>(blockIdx.x * (kThreads / 32) + threadIdx.x / 32);
  if (row < args.rows) route_row(args, row);
}

// One block: slots counted per expert, the counts added up, then every warp finds the slots of its experts in the order
// of rows.
template <int kPlanThreads>
__device__ void plan_slots(const PlanArgs& args) {
  static_assert(kPlanThreads >= kMaxExperts);
  __shared__ int32_t count[kMaxExperts], first[kMaxExperts], warp_sums[kMaxExperts / 32];
  const int32_t slots = args.rows * args.top, e = static_cast<int32_t>(threadIdx.x);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (e < kMaxExperts) count[e] = 0;
  __syncthreads();
  for (int32_t i = e; i < slots; i += kPlanThreads) atomicAdd(&count[args.chosen[i]], 1);
  __syncthreads();
  scan_experts(e < kMaxExperts ? count[e] : 0, args.plan, first, warp_sums);
  for (int32_t expert = warp; expert < args.experts; expert += kPlanThreads / 32) {
    if (count[expert] == 0) continue;
    int32_t next = first[expert];
    for (int32_t base = 0; base < slots; base += 32) {
      const int32_t i = base + lane;
      const bool hit = i < slots && args.chosen[i] == expert;
      const uint32_t hits = __ballot_sync(~0u, hit);
      if (hit) {
        const int32_t at = next + __popc(hits & ((1u << lane) - 1));
        args.slot_row[at] = i / args.top;
        args.slot_of[i] = at;
      }
      next += __popc(hits);
    }
  }
}

constexpr int kPlanThreads = 1024;

__global__ void __launch_bounds__(kPlanThreads) plan_kernel(const PlanArgs args) {
  let_next_start();
  wait_for_previous();
  plan_slots<kPlanThreads>(args);
}

// Scores by all blocks, one warp per expert; the block that comes last chooses and plans.
template <int kRows>
__global__ void __launch_bounds__(kThreads)
    router_kernel(const RouterArgs router, const RouteArgs route, const PlanArgs plan) {
  __shared__ int32_t came;
  let_next_start();
  const int32_t expert = static_cast<int32_t>(blockIdx.x * (kThreads / 32) + threadIdx.x / 32);
  const int32_t first_row = static_cast<int32_t>(blockIdx.y) * kRows;
  const int lane = threadIdx.x % 32;
  if (expert < route.experts) {
    prefetch_dots(router.router, expert, lane);
    wait_for_previous();
    const float* x[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      x[r] = router.x + static_cast<int64_t>(min(first_row + r, route.rows - 1)) * router.router.cols;
    float sums[kRows];
    lane_dots<kRows>(router.router, static_cast<const char*>(router.router.values), expert, x, lane, sums);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float value = warp_sum(sums[r]);
      if (lane == 0 && first_row + r < route.rows)
        __stcg(router.scores + static_cast<int64_t>(first_row + r) * route.experts + expert, value);
    }
  } else {
    wait_for_previous();
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) came = atomicAdd(router.arrivals, 1);
  __syncthreads();
  if (came != static_cast<int32_t>(gridDim.x * gridDim.y) - 1) return;
  __threadfence();
  if (threadIdx.x == 0) *router.arrivals = 0;
  for (int32_t row = static_cast<int32_t>(threadIdx.x / 32); row < route.rows; row += kThreads / 32)
    route_row(route, row);
  __syncthreads();
  plan_slots<kThreads>(plan);
}

__global__ void combine_kernel(const CombineArgs args) {
  let_next_start();
  wait_for_previous();
  const int32_t col = static_cast<int32_t>(blockIdx.x * kThreads + threadIdx.x);
  const int32_t row = static_cast<int32_t>(blockIdx.y);
  if (col >= args.width) return;
  float sum = 0;
  for (int32_t rank = 0; rank < args.top; ++rank) {
    const int32_t at = row * args.top + rank;
    sum = fmaf(args.from[static_cast<int64_t>(args.slot_of[at]) * args.width + col], args.share[at], sum);
  }
  args.y[static_cast<int64_t>(row) * args.width + col] = sum;
}

}  // namespace

void route(const RouteArgs& args, Stream stream) {
  launch(route_kernel, dim3(static_cast<unsigned>(ceil_div(args.rows, kThreads / 32))), dim3(kThreads), 0, stream, true,
         args);
}

void route_and_plan(const RouterArgs& router, const RouteArgs& route, const PlanArgs& plan, Stream stream) {
  // As matmul_f32 takes rows, though a row's bits do not depend on it.
  const int32_t at_once = route.rows < 8 ? 1 : 8;
  const dim3 grid(static_cast<unsigned>(ceil_div(route.experts, kThreads / 32)),
                  static_cast<unsigned>(ceil_div(route.rows, at_once)));
  launch(at_once == 1 ? router_kernel<1> : router_kernel<8>, grid, dim3(kThreads), 0, stream, true, router, route,
         plan);
}

void plan_experts(const PlanArgs& args, Stream stream) {
  launch(plan_kernel, dim3(1), dim3(kPlanThreads), 0, stream, true, args);
}

void combine_experts(const CombineArgs& args, Stream stream) {
  const dim3 grid(static_cast<unsigned>(ceil_div(args.width, kThreads)), static_cast<unsigned>(args.rows));
  launch(combine_kernel, grid, dim3(kThreads), 0, stream, true, args);
}

}  // namespace paceline::kernels::cuda
