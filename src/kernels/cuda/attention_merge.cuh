// The outputs of a block of attention, and the merging of pages that had a block each.
#pragma once

#include "kernels/cuda/attention.cuh"

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

// Merges what the blocks of single pages left, in the one of them that came last.
__device__ inline void merge_pages(const AttentionArgs& args, const Work& w, int32_t queries, int32_t dim) {
  __shared__ int32_t came;
  int32_t* arrivals = args.arrivals + blockIdx.x * args.kv_heads + blockIdx.y;
  const int32_t pages = w.page_end - w.page_begin;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) came = atomicAdd(arrivals, 1);
  __syncthreads();
  if (came != pages - 1) return;
  __threadfence();
  if (threadIdx.x == 0) *arrivals = 0;
  for (int32_t i = static_cast<int32_t>(threadIdx.x) * 4; i < w.queries * dim; i += kThreads * 4) {
    const int32_t query = i / dim;
    Merge merge;
    float4 value = make_float4(0, 0, 0, 0);
    // Pages are asked for together: one after the other they would take a trip to the cache each.
    constexpr int kAtOnce = 8;
    for (int32_t base = 0; base < pages; base += kAtOnce) {
      float4 four[kAtOnce];
      float top[kAtOnce], sum[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (base + k >= pages) continue;
        const float* part = part_of_page(args, base + k, queries, dim);
        four[k] = __ldcg(reinterpret_cast<const float4*>(part + i));
        top[k] = __ldcg(part + queries * dim + query);
        sum[k] = __ldcg(part + queries * (dim + 1) + query);
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (base + k >= pages) continue;
        merge.take(top[k], sum[k]);
        value.x = fmaf(four[k].x, merge.now, value.x * merge.before);
        value.y = fmaf(four[k].y, merge.now, value.y * merge.before);
        value.z = fmaf(four[k].z, merge.now, value.z * merge.before);
        value.w = fmaf(four[k].w, merge.now, value.w * merge.before);
      }
    }
    const float share = merge.sum > 0 ? __fdividef(1.0f, merge.sum) : 0.0f;
    write_out(args, w, query, i % dim, value.x * share);
    write_out(args, w, query, i % dim + 1, value.y * share);
    write_out(args, w, query, i % dim + 2, value.z * share);
    write_out(args, w, query, i % dim + 3, value.w * share);
  }
}

}  // namespace paceline::kernels::cuda::attention_block
