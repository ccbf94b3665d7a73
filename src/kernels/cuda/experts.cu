// The router's choice, which rows each expert gets, and the sum of the experts' outputs. The products themselves are
// matmul's, over the plan made here.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/router.cuh"
#include "kernels/cuda/rows.h"

namespace paceline::kernels::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) route_kernel(const RouteArgs args) {
  let_next_start();
  wait_for_previous();
  const int32_t row = static_cast<int32_t>(blockIdx.x * (kThreads / 32) + threadIdx.x / 32);
  const auto lane = static_cast<int32_t>(threadIdx.x % 32);
  if (row >= args.rows) return;
  float scores[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i)
    scores[i] = expert_of(i) < args.experts
                    ? __ldcg(args.scores + static_cast<int64_t>(row) * args.experts + expert_of(i))
                    : 0.0f;
  const Choice choice = choose_experts(scores, args);
  if (lane >= args.top) return;
  args.chosen[row * args.top + lane] = choice.expert;
  args.share[row * args.top + lane] = choice.share(args.expert_scale[choice.expert]);
}

constexpr int kPlanThreads = kNarrowRows * 32;

// A thread per slot.
__global__ void __launch_bounds__(kPlanThreads) plan_kernel(const PlanArgs args) {
  __shared__ Slots slots;
  let_next_start();
  slots.clear();
  wait_for_previous();
  __syncthreads();
  const auto i = static_cast<int32_t>(threadIdx.x);
  const int32_t row = i / args.top, rank = i % args.top;
  const int32_t expert = row < args.rows ? args.chosen[i] : 0;
  if (row < args.rows) slots.add(row, expert);
  slots.plan(PlanInMemory{args.plan});
  if (row < args.rows) slots.write(args, row, rank, expert);
}

// A warp per row. All blocks leave scores (handover.cuh) but the last, which chooses and plans.
template <int kRows>
__global__ void __launch_bounds__(kRows * 32)
    router_kernel(const __grid_constant__ RouterArgs router, const __grid_constant__ RouteArgs route,
                  const __grid_constant__ PlanArgs plan) {
  let_next_start();
  const auto row = static_cast<int32_t>(threadIdx.x / 32), lane = static_cast<int32_t>(threadIdx.x % 32);
  // As many as there are registers for.
  constexpr int kAtOnce = kRows <= 8 ? kRouterSteps : 4;
  if (blockIdx.x + 1 < gridDim.x) {
    const ExpertPair pair(router, static_cast<int32_t>(blockIdx.x));
    wait_for_previous();
    return pair.leave_scores<kAtOnce>(router.x + static_cast<int64_t>(row) * router.router.cols, row);
  }
  __shared__ Slots slots;
  __shared__ float scales[kMaxExperts];
  slots.clear();
  for (auto e = static_cast<int32_t>(threadIdx.x); e < route.experts; e += static_cast<int32_t>(blockDim.x))
    scales[e] = route.expert_scale[e];
  wait_for_previous();
  float scores[kEach];
  take_scores(router.left + row * kMaxExperts, route.experts, scores);
  const Choice choice = choose_experts(scores, route);
  __syncthreads();
  if (lane < route.top) slots.add(row, choice.expert);
  slots.plan(PlanInMemory{plan.plan});
  if (lane >= route.top) return;
  slots.write(plan, row, lane, choice.expert);
  route.chosen[row * route.top + lane] = choice.expert;
  route.share[row * route.top + lane] = choice.share(scales[choice.expert]);
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

bool can_route_and_plan(const RouterArgs& router, int32_t rows) {
  const Weight& w = router.router;
  return rows <= kNarrowRows && w.format == Format::bf16 && w.cols % 16 == 0 && w.cols <= kRouterSteps * 128 &&
         reinterpret_cast<uintptr_t>(router.x) % sizeof(float2) == 0;
}

void route_and_plan(const RouterArgs& router, const RouteArgs& route, const PlanArgs& plan, Stream stream) {
  const dim3 grid(static_cast<unsigned>(router.router.tiles() * 8 + 1));
  launch(route.rows <= 8 ? router_kernel<8> : router_kernel<16>, grid, dim3(static_cast<unsigned>(route.rows * 32)), 0,
         stream, true, router, route, plan);
}

void plan_experts(const PlanArgs& args, Stream stream) {
  launch(plan_kernel, dim3(1), dim3(kPlanThreads), 0, stream, true, args);
}

void combine_experts(const CombineArgs& args, Stream stream) {
  const dim3 grid(static_cast<unsigned>(ceil_div(args.width, kThreads)), static_cast<unsigned>(args.rows));
  launch(combine_kernel, grid, dim3(kThreads), 0, stream, true, args);
}

}  // namespace paceline::kernels::cuda
