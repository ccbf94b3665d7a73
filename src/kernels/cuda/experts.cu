// The router's choice, which rows each expert gets, and the sum of the experts' outputs. The products themselves are
// matmul's, over the plan made here. Bound by the ways to the cache and back, of which there are as few as can be: the
// router's weights are asked for before its rows are there.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/handover.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/order.cuh"
#include "kernels/cuda/rows.h"

namespace paceline::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// Which of a row's experts a lane has: fours, so that their scores are one load.
constexpr int kEach = kMaxExperts / 32;
__device__ __forceinline__ int32_t expert_of(int i) {
  return i / 4 * 128 + static_cast<int32_t>(threadIdx.x % 32) * 4 + i % 4;
}

// Of the rank that is the lane's number.
struct Choice {
  int32_t expert;
  float value, sum;  // what shares are made of: the expert's exponential, and all chosen ones', or all there are

  __device__ __forceinline__ float share(float expert_scale) const { return value * __fdiv_rn(expert_scale, sum); }
};

// A warp chooses for a row, of which every lane brings its experts' scores. Keys are exponentials' bits, which are in
// their order, moved up by two: what is not a number comes last, and what is not there or taken, never.
__device__ __forceinline__ Choice choose_experts(const float (&scores)[kEach], const RouteArgs& route) {
  const int32_t experts = route.experts;
  constexpr uint32_t kTaken = 0, kNotANumber = 1, kNumbers = 2;
  uint32_t order = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i)
    if (expert_of(i) < experts) order = max(order, order_of(scores[i]));
  const float largest = value_of(__reduce_max_sync(~0u, order));
  uint32_t keys[kEach];
  float all = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const float value = __expf(scores[i] - largest);
    if (expert_of(i) < experts) all += value;
    keys[i] = expert_of(i) >= experts ? kTaken : value != value ? kNotANumber : __float_as_uint(value) + kNumbers;
  }
  Choice mine{};
  float sum = 0;
  for (int32_t rank = 0; rank < route.top; ++rank) {
    uint32_t best = kTaken;
#pragma unroll
    for (int i = 0; i < kEach; ++i) best = max(best, keys[i]);
    best = __reduce_max_sync(~0u, best);
    uint32_t place = kMaxExperts;
#pragma unroll
    for (int i = kEach - 1; i >= 0; --i)
      if (keys[i] == best) place = static_cast<uint32_t>(expert_of(i));
    const auto expert = static_cast<int32_t>(__reduce_min_sync(~0u, place));
#pragma unroll
    for (int i = 0; i < kEach; ++i)
      if (expert_of(i) == expert) keys[i] = kTaken;
    const float value = best == kNotANumber ? NAN : __uint_as_float(best - kNumbers);
    sum += value;
    if (static_cast<int32_t>(threadIdx.x % 32) == rank) mine = {expert, value, 0};
  }
  mine.sum = route.divides ? sum : warp_sum(all);
  return mine;
}

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

// The slots of few rows, planned by one block in its shared memory.
struct Slots {
  uint32_t rows_of[kMaxExperts];  // a bit for each row that has chosen the expert
  int32_t first[kMaxExperts];     // where its slots begin

  // By all threads, and others add only behind a barrier.
  __device__ __forceinline__ void clear() {
    for (unsigned e = threadIdx.x; e < kMaxExperts; e += blockDim.x) rows_of[e] = 0;
  }
  __device__ __forceinline__ void add(int32_t row, int32_t expert) { atomicOr(&rows_of[expert], 1u << row); }
  // By all threads: from what was added to `first`, and to the plan.
  __device__ __forceinline__ void plan(ExpertPlan* to) {
    // Slots in the low bits, touched experts in the high ones: both are added up at once.
    constexpr int32_t kTouched = 1 << 20;
    __syncthreads();
    if (threadIdx.x < 32) {
      const auto lane = static_cast<int32_t>(threadIdx.x);
      int32_t sums[kEach], sum = 0;
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        const uint32_t rows = rows_of[lane * kEach + i];
        sums[i] = __popc(rows) + (rows != 0 ? kTouched : 0);
        sum += sums[i];
      }
      int32_t in_front = sum;
      for (int offset = 1; offset < 32; offset *= 2) {
        const int32_t below = __shfl_up_sync(~0u, in_front, offset);
        if (lane >= offset) in_front += below;
      }
      in_front -= sum;
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        first[lane * kEach + i] = in_front % kTouched;
        if (sums[i] != 0) {
          to->expert[in_front / kTouched] = lane * kEach + i;
          to->first[in_front / kTouched] = in_front % kTouched;
        }
        in_front += sums[i];
      }
      if (lane == 31) {
        to->touched = in_front / kTouched;
        to->first[in_front / kTouched] = in_front % kTouched;
      }
    }
    __syncthreads();
  }
  // The slot of a row at this rank, whose expert it is.
  __device__ __forceinline__ void write(const PlanArgs& args, int32_t row, int32_t rank, int32_t expert) const {
    const int32_t at = first[expert] + __popc(rows_of[expert] & ((1u << row) - 1));
    args.slot_row[at] = row;
    args.slot_of[row * args.top + rank] = at;
  }
};
static_assert(kNarrowRows <= 32);

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
  slots.plan(args.plan);
  if (row < args.rows) slots.write(args, row, rank, expert);
}

// Steps of 16 columns that a lane takes at most: of every eight one.
constexpr int kRouterSteps = 22;

// A warp's row, and the experts g and g + 8 of a tile, which lie together. Lanes and their order are lane_dots'. So
// many steps of the row are asked for at once.
template <int kAtOnce>
__device__ __forceinline__ void leave_scores(const RouterArgs& router, int32_t experts, int32_t row) {
  const auto lane = static_cast<int32_t>(threadIdx.x % 32), block = static_cast<int32_t>(blockIdx.x);
  const int32_t expert = block / 8 * 16 + block % 8, steps = router.router.cols / 16;
  const auto* values = static_cast<const uint4*>(router.router.values) +
                       static_cast<int64_t>(block / 8) * (router.router.depth() / 16) * 32 + block % 8 * 4 + lane % 4;
  const auto present = [&](int i) { return i < kRouterSteps && lane / 4 + i * 8 < steps; };
  uint4 weights[kRouterSteps];
#pragma unroll
  for (int i = 0; i < kRouterSteps; ++i)
    weights[i] = present(i) ? load_four(values + (lane / 4 + i * 8) * 32) : make_uint4(0, 0, 0, 0);
  wait_for_previous();
  const float* x = router.x + static_cast<int64_t>(row) * router.router.cols + lane / 4 * 16 + lane % 4 * 2;
  float low = 0, high = 0;
#pragma unroll
  for (int base = 0; base < kRouterSteps; base += kAtOnce) {
    float2 v[kAtOnce][2];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        if (present(base + i)) v[i][half] = *reinterpret_cast<const float2*>(x + (base + i) * 128 + half * 8);
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        if (!present(base + i)) continue;
        const uint4& w = weights[base + i];
        const uint32_t low_pair = half == 0 ? w.x : w.z, high_pair = half == 0 ? w.y : w.w;
        low = fmaf(bf16_bits_to_float(low_pair & 0xffffu), v[i][half].x, low);
        low = fmaf(__uint_as_float(low_pair & 0xffff0000u), v[i][half].y, low);
        high = fmaf(bf16_bits_to_float(high_pair & 0xffffu), v[i][half].x, high);
        high = fmaf(__uint_as_float(high_pair & 0xffff0000u), v[i][half].y, high);
      }
  }
  low = warp_sum(low);
  high = warp_sum(high);
  if (lane == 0 && expert < experts) leave(router.left + row * kMaxExperts + expert, low);
  if (lane == 1 && expert + 8 < experts) leave(router.left + row * kMaxExperts + expert + 8, high);
}

// The row's scores, once they are there.
__device__ __forceinline__ void take_scores(float* left, int32_t experts, float (&scores)[kEach]) {
  Patience patience;
  for (bool there = false; !there;) {
    there = true;
#pragma unroll
    for (int i = 0; i < kEach; i += 4) {
      const float4 v = expert_of(i) < experts ? look(left + expert_of(i)) : make_float4(0, 0, 0, 0);
      scores[i] = v.x, scores[i + 1] = v.y, scores[i + 2] = v.z, scores[i + 3] = v.w;
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i) there = there && (expert_of(i) >= experts || is_there(scores[i]));
    if (!there) patience.rest();
  }
#pragma unroll
  for (int i = 0; i < kEach; i += 4)
    if (expert_of(i) < experts) take_away(left + expert_of(i));
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
  if (blockIdx.x + 1 < gridDim.x) return leave_scores<kAtOnce>(router, route.experts, row);
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
  slots.plan(plan.plan);
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
