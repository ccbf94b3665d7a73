// What a block of attention has in shared memory: pages, queries, and keys and values that it makes itself.
#pragma once

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/attention_merge.cuh"
#include "kernels/cuda/heads.cuh"

namespace paceline::kernels::cuda::attention_block {

struct Layout {
  int32_t key_stride, value_stride, query_stride, weight_stride;  // bytes of a row in shared memory
  int32_t keys, values, queries, weights, stats;                  // offsets
  int32_t bytes;
};

// Rows are 16 bytes longer than what they hold, so that neighbouring rows start in different banks.
PACELINE_BOTH constexpr Layout layout_of(int32_t dim, int32_t queries) {
  Layout l{};
  l.key_stride = dim * 2 + 16;
  l.value_stride = kPageTokens * 2 + 16;
  l.query_stride = dim * 2 + 16;
  l.weight_stride = kPageTokens * 2 + 16;
  l.keys = 0;
  l.values = l.keys + kPageTokens * l.key_stride;
  l.queries = l.values + dim * l.value_stride;
  l.weights = l.queries + queries * l.query_stride;
  l.stats = l.weights + queries * l.weight_stride;  // top, sum, two factors, and two of four warps each
  l.bytes = l.stats + queries * 4 * 12;
  return l;
}

// kRowBytes 0: as told.
template <int kRowBytes>
__device__ __forceinline__ void copy_page(const void* page, int64_t head_bytes, int32_t kv_head, int32_t rows,
                                          int32_t row_bytes, uint32_t to, int32_t stride) {
  const char* from = static_cast<const char*>(page) + kv_head * head_bytes;
  const int32_t chunks = kRowBytes > 0 ? kRowBytes / 16 : row_bytes / 16;
#pragma unroll 8
  for (int32_t i = threadIdx.x; i < rows * chunks; i += kThreads)
    copy16_async(to + i / chunks * stride + i % chunks * 16, from + static_cast<int64_t>(i) * 16, true);
}

// Queries in shared memory as bf16, zeros where there is none: as they come, or made ready here.
template <int kQueries, int kPairs, bool kHeads>
__device__ __forceinline__ void stage_queries(const AttentionArgs& args, const Work& w, int32_t dim,
                                              const HeadRow<kPairs>& weights, char* to, int32_t stride) {
  if constexpr (kHeads) {
    for (int32_t query = threadIdx.x / 32; query < kQueries; query += kThreads / 32) {
      HeadRow<kPairs> values, angle;
      const int64_t row = w.first_row + query / w.grouped, head = w.kv_head * w.grouped + query % w.grouped;
      const bool has = query < w.queries;
      values.load(has ? args.q + (row * args.heads + head) * dim : nullptr, dim / 2, 0.0f);
      if (has) {
        const int64_t at = row * (dim / 2);
        angle.load(args.head.cos + at, args.head.sin + at, dim / 2, 0.0f);
        values.norm(weights, dim, args.head.eps);
        values.turn(angle);
      }
      auto* out = reinterpret_cast<__nv_bfloat16*>(to + query * stride);
      values.each(dim / 2, [&](int32_t at, float value) { out[at] = __float2bfloat16_rn(value); });
    }
  } else {
#pragma unroll 4
    for (int32_t i = threadIdx.x; i < kQueries * dim / 4; i += kThreads) {
      const int32_t query = i / (dim / 4), at = i % (dim / 4) * 4;
      uint2 four = make_uint2(0, 0);
      if (query < w.queries) {
        const int64_t row = w.first_row + query / w.grouped, head = w.kv_head * w.grouped + query % w.grouped;
        const float4 v = *reinterpret_cast<const float4*>(args.q + (row * args.heads + head) * dim + at);
        four = make_uint2(pack_bf16(v.x, v.y), pack_bf16(v.z, v.w));
      }
      *reinterpret_cast<uint2*>(to + query * stride + at * 2) = four;
    }
  }
}

// Keys and values of the sequence's rows that lie in this page, up to the block's last: into the copy of the page in
// shared memory, once that is there, and those of the block's own rows into the page itself.
template <int kPairs>
__device__ __forceinline__ void make_keys(const AttentionArgs& args, const Work& w, int32_t page, int32_t dim,
                                          char* shared, const Layout& l) {
  constexpr int32_t kWarps = kThreads / 32;
  const int32_t begin = max(w.seq->first_pos, page * kPageTokens);
  const int32_t end = min(w.first_pos + w.rows, (page + 1) * kPageTokens), jobs = (end - begin) * 2;
  const int32_t slot = w.seq->slots == 0 ? page : page % w.seq->slots, half = dim / 2;
  const int64_t base = static_cast<int64_t>(w.kv_head) * kPageTokens * dim;
  HeadRow<kPairs> values;
  const auto make = [&](int32_t job) {
    HeadRow<kPairs> weights, angle;
    const int64_t row = w.seq->first_row + begin + job / 2 - w.seq->first_pos;
    const bool is_key = job % 2 == 0;
    values.load((is_key ? args.head.k : args.head.v) + (row * args.kv_heads + w.kv_head) * dim, half, 0.0f);
    weights.load(is_key ? args.head.k_weight : nullptr, half, 1.0f);
    if (is_key) angle.load(args.head.cos + row * half, args.head.sin + row * half, half, 0.0f);
    values.norm(weights, dim, args.head.eps);
    if (is_key) values.turn(angle);
  };
  const auto put = [&](int32_t job) {
    const bool is_key = job % 2 == 0, own = begin + job / 2 >= w.first_pos;
    const int32_t token = (begin + job / 2) % kPageTokens;
    auto* to = static_cast<__nv_bfloat16*>(is_key ? w.seq->keys[slot] : w.seq->values[slot]) + base;
    values.each(half, [&](int32_t at, float value) {
      const __nv_bfloat16 rounded = __float2bfloat16_rn(value);
      char* place = is_key ? shared + l.keys + token * l.key_stride + at * 2
                           : shared + l.values + at * l.value_stride + token * 2;
      *reinterpret_cast<__nv_bfloat16*>(place) = rounded;
      if (own)
        to[is_key ? static_cast<int64_t>(token) * dim + at : static_cast<int64_t>(at) * kPageTokens + token] = rounded;
    });
  };
  // The last warps begin: the first ones have the queries.
  int32_t job = kWarps - 1 - static_cast<int32_t>(threadIdx.x / 32);
  if (job < jobs) make(job);
  wait_copies<0>();
  __syncthreads();
  if (job < jobs) put(job);
  for (job += kWarps; job < jobs; job += kWarps) {
    make(job);
    put(job);
  }
}

}  // namespace paceline::kernels::cuda::attention_block
