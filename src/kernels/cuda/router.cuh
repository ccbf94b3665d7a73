// The router of few rows: each expert's score of a row, the choice among them, and the slots that this gives the
// experts. Bound by the ways to the cache and back: the router's weights are asked for before its rows are there, and
// scores go from block to block as they come (handover.cuh).
#pragma once

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/handover.cuh"
#include "kernels/cuda/order.cuh"
#include "kernels/cuda/rows.h"

namespace paceline::kernels::cuda {
namespace {

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

// Where a plan goes.
struct PlanInMemory {
  ExpertPlan* to;

  __device__ __forceinline__ void put(int32_t place, int32_t expert, int32_t first, uint32_t) const {
    to->expert[place] = expert;
    to->first[place] = first;
  }
  // By a whole warp.
  __device__ __forceinline__ void end(int32_t touched, int32_t slots) const {
    if (threadIdx.x % 32 > 0) return;
    to->touched = touched;
    to->first[touched] = slots;
  }
};
// The same, left for blocks that wait for it (HandedPlan).
struct PlanHanded {
  HandedPlan to;

  __device__ __forceinline__ void put(int32_t place, int32_t expert, int32_t first, uint32_t rows) const {
    leave(to.entry(place), make_float2(__int_as_float(expert), __uint_as_float(to.of(first, rows))));
  }
  __device__ __forceinline__ void end(int32_t touched, int32_t) const {
    for (int32_t at = touched + static_cast<int32_t>(threadIdx.x % 32); at < to.most; at += 32)
      put(at, HandedPlan::kNobody, 0, 0);
  }
};

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
  template <class To>
  __device__ __forceinline__ void plan(const To& to) {
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
        if (sums[i] != 0)
          to.put(in_front / kTouched, lane * kEach + i, in_front % kTouched, rows_of[lane * kEach + i]);
        in_front += sums[i];
      }
      const int32_t all = __shfl_sync(~0u, in_front, 31);
      to.end(all / kTouched, all % kTouched);
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

// Steps of 16 columns that a lane takes at most: of every eight one.
constexpr int kRouterSteps = 22;

// A warp's pair of experts, g and g + 8 of a tile, which lie together. Lanes and their order are lane_dots'.
struct ExpertPair {
  const RouterArgs& router;
  int32_t pair;
  uint4 weights[kRouterSteps];

  // They are asked for at once.
  __device__ __forceinline__ ExpertPair(const RouterArgs& args, int32_t number) : router(args), pair(number) {
    const auto* values = static_cast<const uint4*>(router.router.values) +
                         static_cast<int64_t>(pair / 8) * (router.router.depth() / 16) * 32 + pair % 8 * 4 + lane() % 4;
#pragma unroll
    for (int i = 0; i < kRouterSteps; ++i)
      weights[i] = present(i) ? load_four(values + (lane() / 4 + i * 8) * 32) : make_uint4(0, 0, 0, 0);
  }
  // Of a row, which is `x`; so many steps of it are read at once.
  template <int kAtOnce>
  __device__ __forceinline__ void leave_scores(const float* x, int32_t row) const {
    x += lane() / 4 * 16 + lane() % 4 * 2;
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
    const int32_t expert = pair / 8 * 16 + pair % 8, experts = router.router.rows;
    if (lane() == 0 && expert < experts) leave(router.left + row * kMaxExperts + expert, low);
    if (lane() == 1 && expert + 8 < experts) leave(router.left + row * kMaxExperts + expert + 8, high);
  }

 private:
  static __device__ __forceinline__ int32_t lane() { return static_cast<int32_t>(threadIdx.x % 32); }
  [[nodiscard]] __device__ __forceinline__ bool present(int i) const {
    return i < kRouterSteps && lane() / 4 + i * 8 < router.router.cols / 16;
  }
};

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

}  // namespace
}  // namespace paceline::kernels::cuda
