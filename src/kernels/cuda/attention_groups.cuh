// What kernels of attention on warpgroups share. A block has two of them, with tiles of 64 queries and 256 dims of the
// output each.
#pragma once

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/warpgroup.cuh"

namespace paceline::kernels::cuda::attention_groups {

constexpr int kThreads = 256;
constexpr int kGroupQueries = 64, kGroupDims = 256;
constexpr int kPanel = kPageTokens * 128;  // bytes of 64 rows of 64 elements

// Chunk `chunk` (16 bytes) of row `row`, in panels of kRows rows and 64 columns, swizzled as the tensor cores take
// them.
template <int kRows = kPageTokens>
__device__ __forceinline__ uint32_t place_of(int32_t row, int32_t chunk) {
  return chunk / 8 * (kRows * 128) + row * 128 + ((chunk % 8 ^ row % 8) << 4);
}

#if PACELINE_WARPGROUPS
template <int kDim, int kQueries, int kThreadsHere = kThreads>
__device__ __forceinline__ void stage_queries(const AttentionArgs& args, const Work& w, char* to) {
  constexpr int kChunks = kDim / 8, kRows = kQueries < kGroupQueries ? kQueries : kGroupQueries;
#pragma unroll 4
  for (int32_t i = threadIdx.x; i < kQueries * kChunks; i += kThreadsHere) {
    const int32_t query = i / kChunks, chunk = i % kChunks;
    uint4 eight = make_uint4(0, 0, 0, 0);
    if (query < w.queries) {
      const int64_t row = w.first_row + query / w.grouped, head = w.kv_head * w.grouped + query % w.grouped;
      const auto* from = reinterpret_cast<const float4*>(args.q + (row * args.heads + head) * kDim + chunk * 8);
      const float4 a = from[0], b = from[1];
      eight = make_uint4(pack_bf16(a.x, a.y), pack_bf16(a.z, a.w), pack_bf16(b.x, b.y), pack_bf16(b.z, b.w));
    }
    *reinterpret_cast<uint4*>(to + query / kRows * (kRows * kDim * 2) + place_of<kRows>(query % kRows, chunk)) = eight;
  }
}

// Scores become weights; gives each query's top score and the sum of its weights in attention.cu's order: over 16 keys
// as a tree, these ascending.
__device__ __forceinline__ void weigh(float (&scores)[32], int32_t first_pos, const int32_t (&begin)[2],
                                      const int32_t (&end)[2], float (&top)[2], float (&total)[2]) {
  const int t = threadIdx.x % 4;
  // Most pages are seen by all.
  const bool hides = first_pos < max(begin[0], begin[1]) || first_pos + kPageTokens - 1 > min(end[0], end[1]);
  if (__any_sync(~0u, hides)) {
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      const int32_t pos = first_pos + i / 4 * 8 + t * 2 + i % 2;
      if (pos < begin[i / 2 % 2] || pos > end[i / 2 % 2]) scores[i] = kNone;
    }
  }
#pragma unroll
  for (int q = 0; q < 2; ++q) {
    top[q] = kNone;
#pragma unroll
    for (int n = 0; n < 8; ++n) top[q] = fmaxf(top[q], fmaxf(scores[n * 4 + q * 2], scores[n * 4 + q * 2 + 1]));
    top[q] = fmaxf(top[q], __shfl_xor_sync(~0u, top[q], 1));
    top[q] = fmaxf(top[q], __shfl_xor_sync(~0u, top[q], 2));
    const float shift = top[q] == kNone ? 0.0f : top[q];
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) scores[n * 4 + q * 2 + e] = __expf(scores[n * 4 + q * 2 + e] - shift);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float* low = scores + k * 8 + q * 2;
      float sum = (low[0] + low[4]) + (low[1] + low[5]);
      sum += __shfl_xor_sync(~0u, sum, 1);
      sum += __shfl_xor_sync(~0u, sum, 2);
      total[q] = k == 0 ? sum : total[q] + sum;
    }
  }
}

// What a block has merged of the chunks in front: of each query top and sum, and in memory, where only this thread
// reads them again, its values.
struct Total {
  float4* values;  // [32][kThreads]
  Merge merge[2];

  // Of each block so many floats.
  __device__ __forceinline__ void place(const AttentionArgs& args, int32_t floats) {
    const auto block = static_cast<int64_t>(blockIdx.x) * args.kv_heads + blockIdx.y;
    values = reinterpret_cast<float4*>(args.totals + block * floats) + threadIdx.x;
  }
  // All loops are unrolled: `out` is in registers.
  // The chunk, which is `out`, with those in front; it stays in `out` where it is the last.
  __device__ __forceinline__ void take(float (&out)[2][64], const Merge (&chunk)[2], bool first, bool last) {
    merge[0].take(chunk[0].top, chunk[0].sum);
    merge[1].take(chunk[1].top, chunk[1].sum);
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int i = 0; i < 64; i += 4) {
        float4& at = values[(half * 16 + i / 4) * kThreads];
        float4 was = make_float4(0, 0, 0, 0);
        if (!first) was = at;
        float* is = out[half] + i;
        is[0] = fmaf(is[0], merge[0].now, was.x * merge[0].before);
        is[1] = fmaf(is[1], merge[0].now, was.y * merge[0].before);
        is[2] = fmaf(is[2], merge[1].now, was.z * merge[1].before);
        is[3] = fmaf(is[3], merge[1].now, was.w * merge[1].before);
        if (!last) at = make_float4(is[0], is[1], is[2], is[3]);
      }
  }
};

template <int kDim>
__device__ __forceinline__ void write_query(const AttentionArgs& args, const Work& w, int32_t query, int32_t first_dim,
                                            const float (&out)[2][64], int q, float inverse) {
  if (query >= w.queries) return;
  const int64_t row = w.first_row + query / w.grouped, head = w.kv_head * w.grouped + query % w.grouped;
  float* to = args.out != nullptr ? args.out + (row * args.heads + head) * kDim + first_dim : nullptr;
  uint16_t* to_bf16 =
      args.out_bf16 != nullptr ? args.out_bf16 + row * args.out_stride + head * kDim + first_dim : nullptr;
#pragma unroll
  for (int half = 0; half < 2; ++half)
#pragma unroll
    for (int n = 0; n < 16; ++n) {
      const float a = out[half][n * 4 + q * 2] * inverse, b = out[half][n * 4 + q * 2 + 1] * inverse;
      if (to != nullptr) *reinterpret_cast<float2*>(to + half * 128 + n * 8) = make_float2(a, b);
      if (to_bf16 != nullptr) *reinterpret_cast<uint32_t*>(to_bf16 + half * 128 + n * 8) = pack_bf16(a, b);
    }
}
#endif

}  // namespace paceline::kernels::cuda::attention_groups
