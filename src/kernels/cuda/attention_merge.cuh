// The outputs of a block of attention, and the merging of pages that had a block each.
//
// A page's block leaves its part as its lanes have it (handover.cuh); the block of the last page, which is the latest
// of them, keeps its own, waits for the others, and merges all in ascending order. Where that is much for one block,
// further ones behind it take a share each. A unit of this work is what one tile of 8 queries has of one or two tiles
// of dims per warp, with the queries' tops and sums: warps merge without waiting for other warps.
#pragma once

#include <cstddef>
#include <type_traits>

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/handover.cuh"

namespace paceline::kernels::cuda::attention_block {

inline constexpr int kThreads = kAttentionWarps * 32;

__device__ __forceinline__ void write_out(const AttentionArgs& args, const Work& w, int32_t query, int32_t at,
                                          float value) {
  const int64_t row = w.first_row + query / w.grouped, head = w.kv_head * w.grouped + query % w.grouped;
  if (args.out != nullptr) args.out[(row * args.heads + head) * args.head_dim + at] = value;
  if (args.out_bf16 != nullptr)
    reinterpret_cast<__nv_bfloat16*>(args.out_bf16)[row * args.out_stride + head * args.head_dim + at] =
        __float2bfloat16_rn(value);
}

// What a lane has of a unit: of queries 2t and 2t + 1 of the tile top and sum each, and of each tile of dims (2t, g),
// (2t + 1, g), (2t, g + 8), (2t + 1, g + 8).
template <int kTogether>
struct LanePart {
  float4 stats, values[kTogether];
};

// The merging of up to eight pages for one query, where lane (g, t) knows top and sum of page g: what page k does is
// then asked for by all.
struct MergeOfEight {
  float before, now, page_sum;
  float top_after;

  __device__ __forceinline__ MergeOfEight(float top_before, float page_top, float sum) : page_sum(sum) {
    const int lane = threadIdx.x % 32, t = lane % 4;
    float higher = page_top;
#pragma unroll
    for (int offset = 4; offset < 32; offset *= 2) {
      const float other = __shfl_up_sync(~0u, higher, offset);
      if (lane >= offset) higher = fmaxf(higher, other);
    }
    higher = fmaxf(top_before, higher);
    float top = __shfl_up_sync(~0u, higher, 4);
    if (lane < 4) top = top_before;
    Merge merge;
    merge.weigh(top, page_top, higher);
    before = merge.before;
    now = merge.now;
    top_after = __shfl_sync(~0u, higher, 28 + t);
  }
  // The factors of page k, and the sum with it.
  __device__ __forceinline__ void take(int k, Merge& merge) const {
    const int from = k * 4 + static_cast<int>(threadIdx.x % 4);
    merge.before = __shfl_sync(~0u, before, from);
    merge.now = __shfl_sync(~0u, now, from);
    merge.add(__shfl_sync(~0u, page_sum, from));
  }
};

template <int kNt, int kDt>
struct PageParts {
  static constexpr int kTogether = tiles_together(kDt);
  static constexpr int kPerTile = kDt / kTogether;  // units of a tile of queries
  static constexpr int kUnits = kNt * kPerTile;
  static constexpr int kWarpFloats = part_floats(kTogether);
  static constexpr int kPageFloats = kUnits * kAttentionWarps * kWarpFloats;
  using Part = LanePart<kTogether>;

  const AttentionArgs& args;
  const Work& w;
  int32_t dim;
  float* first;  // of the first page's first unit: what this warp has

  __device__ PageParts(const AttentionArgs& all, const Work& work, int32_t head_dim)
      : args(all),
        w(work),
        dim(head_dim),
        first(args.partial +
              (static_cast<int64_t>(blockIdx.x) * args.kv_heads + blockIdx.y) * args.most_pages * kPageFloats +
              threadIdx.x / 32 * kWarpFloats) {}

  static __device__ __forceinline__ int32_t g() { return static_cast<int32_t>(threadIdx.x % 32 / 4); }
  static __device__ __forceinline__ int32_t t() { return static_cast<int32_t>(threadIdx.x % 4); }
  // Of the two queries that a lane has in a unit.
  static __device__ __forceinline__ int32_t first_query(int32_t unit) { return unit / kPerTile * 8 + t() * 2; }
  [[nodiscard]] __device__ __forceinline__ float* warp_part(int32_t page, int32_t unit) const {
    return first + static_cast<int64_t>(page) * kPageFloats + unit * (kAttentionWarps * kWarpFloats);
  }
  // Behind the values: a warp has its own, so that none waits for another.
  static __device__ __forceinline__ int32_t stats_at() { return kTogether * 128 + t() * 4; }
  // Lanes with the same queries lie together: others may have none.
  static __device__ __forceinline__ int32_t values_at() { return (t() * 8 + g()) * 4; }

  __device__ __forceinline__ void leave_part(int32_t page, int32_t unit, const Part& part) const {
    if (first_query(unit) >= w.queries) return;
    float* to = warp_part(page, unit);
    if (g() == 0) leave(to + stats_at(), part.stats);
#pragma unroll
    for (int d = 0; d < kTogether; ++d) leave(to + values_at() + d * 128, part.values[d]);
  }

  // Merges a unit of the first `others` pages and then this block's own: own(unit) is that, or `own` is none.
  template <class Own>
  __device__ __forceinline__ void merge_unit(int32_t unit, int32_t others, const Own& own) const {
    constexpr int kAtOnce = 8;  // pages that are asked for together, not a trip to the cache each
    const int32_t query = first_query(unit);
    const bool has = query < w.queries;
    Merge merge[2];
    float4 value[kTogether] = {};
    const auto add = [&](const float4(&part)[kTogether]) {
#pragma unroll
      for (int d = 0; d < kTogether; ++d) {
        value[d].x = fmaf(part[d].x, merge[0].now, value[d].x * merge[0].before);
        value[d].y = fmaf(part[d].y, merge[1].now, value[d].y * merge[1].before);
        value[d].z = fmaf(part[d].z, merge[0].now, value[d].z * merge[0].before);
        value[d].w = fmaf(part[d].w, merge[1].now, value[d].w * merge[1].before);
      }
    };
    for (int32_t base = 0; base < others; base += kAtOnce) {
      float* from = warp_part(base, unit) + values_at();
      float* stats_from = warp_part(base + g(), unit) + stats_at();
      const bool has_stats = has && base + g() < others;
      float4 stats = make_float4(kNone, 0, kNone, 0), parts[kAtOnce][kTogether] = {};
      for (bool there = !has; !there;) {
        if (has_stats) stats = look(stats_from);
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k)
#pragma unroll
          for (int d = 0; d < kTogether; ++d)
            if (base + k < others) parts[k][d] = look(from + k * kPageFloats + d * 128);
        there = is_there(stats);
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k)
#pragma unroll
          for (int d = 0; d < kTogether; ++d) there = there && is_there(parts[k][d]);
        if (!there) rest();
      }
      __syncwarp();
      if (has_stats) take_away(stats_from);
      const MergeOfEight eight[2] = {{merge[0].top, stats.x, stats.y}, {merge[1].top, stats.z, stats.w}};
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (base + k >= others) continue;
#pragma unroll
        for (int d = 0; d < kTogether; ++d)
          if (has) take_away(from + k * kPageFloats + d * 128);
        eight[0].take(k, merge[0]);
        eight[1].take(k, merge[1]);
        add(parts[k]);
      }
      merge[0].top = eight[0].top_after;
      merge[1].top = eight[1].top_after;
    }
    if (!has) return;
    if constexpr (!std::is_same_v<Own, std::nullptr_t>) {
      const Part part = own(unit);
      merge[0].take(part.stats.x, part.stats.y);
      merge[1].take(part.stats.z, part.stats.w);
      add(part.values);
    }
    const int32_t at = (static_cast<int32_t>(threadIdx.x / 32) * kDt + unit % kPerTile * kTogether) * 16 + g();
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      if (query + q >= w.queries) continue;
      const float share = merge[q].sum > 0 ? __fdividef(1.0f, merge[q].sum) : 0.0f;
#pragma unroll
      for (int d = 0; d < kTogether; ++d) {
        write_out(args, w, query + q, at + d * 16, (q == 0 ? value[d].x : value[d].y) * share);
        write_out(args, w, query + q, at + d * 16 + 8, (q == 0 ? value[d].z : value[d].w) * share);
      }
    }
  }

  // One of args.merge_shares shares of the units.
  template <class Own>
  __device__ __forceinline__ void merge_share(int32_t share, int32_t others, const Own& own) const {
#pragma unroll 1
    for (int32_t unit = share; unit < kUnits; unit += args.merge_shares) merge_unit(unit, others, own);
  }
};

}  // namespace paceline::kernels::cuda::attention_block
