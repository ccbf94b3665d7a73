// The outputs of a block of attention, and the merging of pages that had a block each.
#pragma once

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/handover.cuh"

namespace paceline::kernels::cuda::attention_block {

inline constexpr int kThreads = 256;

__device__ __forceinline__ void write_out(const AttentionArgs& args, const Work& w, int32_t query, int32_t at,
                                          float value) {
  const int64_t row = w.first_row + query / w.grouped, head = w.kv_head * w.grouped + query % w.grouped;
  if (args.out != nullptr) args.out[(row * args.heads + head) * args.head_dim + at] = value;
  if (args.out_bf16 != nullptr)
    reinterpret_cast<__nv_bfloat16*>(args.out_bf16)[row * args.out_stride + head * args.head_dim + at] =
        __float2bfloat16_rn(value);
}

// Where the block of a page leaves its part: values [queries][dim], then tops [queries] and sums [queries].
__device__ __forceinline__ float* part_of_page(const AttentionArgs& args, int32_t page, int32_t queries, int32_t dim) {
  const int64_t place = (static_cast<int64_t>(blockIdx.x) * args.kv_heads + blockIdx.y) * args.most_pages + page;
  return args.partial + place * (static_cast<int64_t>(queries) * (dim + 2));
}

// Merges what the blocks of single pages leave, in that of the last page. `own` [queries][dim], its tops and sums are
// in shared memory.
__device__ inline void merge_pages(const AttentionArgs& args, const Work& w, int32_t queries, int32_t dim,
                                   const float* own, const float* own_top, const float* own_sum) {
  const int32_t others = w.page_end - w.page_begin - 1;
  const int32_t top_at = queries * dim, sum_at = queries * (dim + 1);
  for (int32_t i = static_cast<int32_t>(threadIdx.x) * 4; i < w.queries * dim; i += kThreads * 4) {
    const int32_t query = i / dim;
    Merge merge;
    float4 value = make_float4(0, 0, 0, 0);
    const auto take = [&](const float4& four, float top, float sum) {
      merge.take(top, sum);
      value.x = fmaf(four.x, merge.now, value.x * merge.before);
      value.y = fmaf(four.y, merge.now, value.y * merge.before);
      value.z = fmaf(four.z, merge.now, value.z * merge.before);
      value.w = fmaf(four.w, merge.now, value.w * merge.before);
    };
    // Pages are asked for together: one after the other they would take a trip to the cache each.
    constexpr int kAtOnce = 12;
    for (int32_t base = 0; base < others; base += kAtOnce) {
      float4 four[kAtOnce];
      float top[kAtOnce], sum[kAtOnce];
      for (bool there = false; !there;) {
        there = true;
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) {
          if (base + k >= others) continue;
          const float* part = part_of_page(args, base + k, queries, dim);
          four[k] = look(part + i);
          top[k] = look_at_one(part + top_at + query);
          sum[k] = look_at_one(part + sum_at + query);
        }
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k)
          if (base + k < others) there = there && is_there(four[k]) && is_there(top[k]) && is_there(sum[k]);
        if (!there) rest();
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (base + k >= others) continue;
        take_away(part_of_page(args, base + k, queries, dim) + i);
        take(four[k], top[k], sum[k]);
      }
    }
    take(*reinterpret_cast<const float4*>(own + i), own_top[query], own_sum[query]);
    const float share = merge.sum > 0 ? __fdividef(1.0f, merge.sum) : 0.0f;
    write_out(args, w, query, i % dim, value.x * share);
    write_out(args, w, query, i % dim + 1, value.y * share);
    write_out(args, w, query, i % dim + 2, value.z * share);
    write_out(args, w, query, i % dim + 3, value.w * share);
  }
  // Several threads look at a query's top and sum: those are taken away when all have seen them.
  __syncthreads();
  for (int32_t i = threadIdx.x; i < others * w.queries; i += kThreads) {
    float* part = part_of_page(args, i / w.queries, queries, dim) + i % w.queries;
    leave(part + top_at, __uint_as_float(kNothing));
    leave(part + sum_at, __uint_as_float(kNothing));
  }
}

}  // namespace paceline::kernels::cuda::attention_block
