// The outputs of a block of attention, and the merging of pages that had a block each.
//
// The block of a page leaves its part, of the queries that are there, values [query][dim] and the top and sum of each
// (handover.cuh). The block of the last page, which is the latest of them, keeps its own, waits for the others, and
// merges all in ascending order. Where that is much for one block, further ones behind it have some of the queries
// each: share s of n has queries s, s + n, ... A thread merges four dims of a query, all that it needs asked for at
// once.
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
// Four neighbours of a head.
__device__ __forceinline__ void write_out(const AttentionArgs& args, const Work& w, int32_t query, int32_t at,
                                          const float4& value) {
  const int64_t row = w.first_row + query / w.grouped, head = w.kv_head * w.grouped + query % w.grouped;
  if (args.out != nullptr)
    *reinterpret_cast<float4*>(args.out + (row * args.heads + head) * args.head_dim + at) = value;
  if (args.out_bf16 != nullptr)
    *reinterpret_cast<uint2*>(args.out_bf16 + row * args.out_stride + head * args.head_dim + at) =
        make_uint2(pack_bf16(value.x, value.y), pack_bf16(value.z, value.w));
}

// The part of a block's own page, in shared memory. Rows are 16 bytes longer than what they hold, so that the lanes
// that write a tile of it meet different banks.
struct OwnPart {
  const float* values;  // [query][dim + 4]
  const float* tops;    // [4][queries]: of 16 positions each
  const float* sums;    // likewise
  int32_t queries, dim;

  [[nodiscard]] __device__ __forceinline__ float4 four(int32_t query, int32_t at) const {
    return *reinterpret_cast<const float4*>(values + query * (dim + 4) + at);
  }
  [[nodiscard]] __device__ __forceinline__ float top(int32_t query) const {
    float best = tops[query];
    for (int i = 1; i < 4; ++i) best = fmaxf(best, tops[i * queries + query]);
    return best;
  }
  [[nodiscard]] __device__ __forceinline__ float sum(int32_t query) const {
    float total = sums[query];
    for (int i = 1; i < 4; ++i) total += sums[i * queries + query];
    return total;
  }
};

struct PageParts {
  const AttentionArgs& args;
  const Work& w;
  int32_t queries, dim;  // queries: that there is room for
  float* first;          // of the first page

  __device__ __forceinline__ PageParts(const AttentionArgs& all, const Work& work, int32_t most_queries,
                                       int32_t head_dim)
      : args(all), w(work), queries(most_queries), dim(head_dim) {
    const auto place = static_cast<int64_t>(blockIdx.x) * args.kv_heads + blockIdx.y;
    first = args.partial + place * args.most_pages * page_floats();
  }
  [[nodiscard]] __device__ __forceinline__ int32_t page_floats() const { return queries * (dim + 2); }
  // Behind a page's values: of each query top and sum.
  [[nodiscard]] __device__ __forceinline__ int32_t stats_at(int32_t query) const { return queries * dim + query * 2; }

  // What the last page's block leaves is only for others that merge.
  __device__ __forceinline__ void leave_part(int32_t page, const OwnPart& own, bool last) const {
    float* to = first + static_cast<int64_t>(page) * page_floats();
    const auto is_left = [&](int32_t query) { return !last || query % args.merge_shares != 0; };
    const int32_t thread = static_cast<int32_t>(threadIdx.x), quads = dim / 4;
    if (thread < w.queries && is_left(thread))
      leave(to + stats_at(thread), make_float2(own.top(thread), own.sum(thread)));
    for (int32_t i = thread; i < w.queries * quads; i += kThreads) {
      const int32_t query = i / quads, at = i % quads * 4;
      if (is_left(query)) leave(to + query * dim + at, own.four(query, at));
    }
  }

  // Merges a share of the queries: the first `others` pages and then this block's own, if it has one. kAtOnce: pages that
  // are asked for together, not a trip to the cache each.
  template <bool kOwn, int kAtOnce>
  __device__ __forceinline__ void merge_share(int32_t share, int32_t others, const OwnPart& own) const {
    const int32_t shares = args.merge_shares, quads = dim / 4;
    const int32_t mine = (w.queries - share + shares - 1) / shares, count = mine * quads;
    const int32_t thread = static_cast<int32_t>(threadIdx.x);
    if (!kOwn && thread < count) {
      // Until it is worth asking for all: the page in front of the last is there a little earlier than that one.
      const float* sign = first + max(others - 2, 0) * page_floats() + stats_at(share);
      while (!is_there(look_pair(sign))) rest();
    }
#pragma unroll 1
    for (int32_t i = thread; i < count; i += kThreads) {
      const int32_t query = share + i / quads * shares, at = i % quads * 4;
      Merge merge;
      float4 value = make_float4(0, 0, 0, 0);
      const auto add = [&](const float4& part) {
        value.x = fmaf(part.x, merge.now, value.x * merge.before);
        value.y = fmaf(part.y, merge.now, value.y * merge.before);
        value.z = fmaf(part.z, merge.now, value.z * merge.before);
        value.w = fmaf(part.w, merge.now, value.w * merge.before);
      };
#pragma unroll 1
      for (int32_t base = 0; base < others; base += kAtOnce) {
        const float* from = first + base * page_floats() + query * dim + at;
        const float* stats_from = first + base * page_floats() + stats_at(query);
        float4 parts[kAtOnce];
        float2 stats[kAtOnce];
        for (bool there = false; !there;) {
#pragma unroll
          for (int k = 0; k < kAtOnce; ++k) {
            // Behind the last one that again: without a condition it takes fewer registers.
            const int32_t ahead = min(k, others - 1 - base) * page_floats();
            stats[k] = look_pair(stats_from + ahead);
            parts[k] = look(from + ahead);
          }
          there = true;
#pragma unroll
          for (int k = 0; k < kAtOnce; ++k) there = there && is_there(stats[k]) && is_there(parts[k]);
          if (!there) rest();
        }
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) {
          if (base + k >= others) continue;
          merge.take(stats[k].x, stats[k].y);
          add(parts[k]);
        }
      }
      if constexpr (kOwn) {
        merge.take(own.top(query), own.sum(query));
        add(own.four(query, at));
      }
      const float factor = merge.sum > 0 ? __fdividef(1.0f, merge.sum) : 0.0f;
      write_out(args, w, query, at,
                make_float4(value.x * factor, value.y * factor, value.z * factor, value.w * factor));
    }
    // All is taken away behind the outputs, and tops and sums once nobody looks at them any more.
    __syncthreads();
    for (int32_t i = thread; i < mine * others; i += kThreads)
      take_away_pair(first + i / mine * page_floats() + stats_at(share + i % mine * shares));
#pragma unroll 1
    for (int32_t i = thread; i < count; i += kThreads) {
      float* from = first + (share + i / quads * shares) * dim + i % quads * 4;
#pragma unroll 1
      for (int32_t page = 0; page < others; ++page) take_away(from + page * page_floats());
    }
  }
};

}  // namespace paceline::kernels::cuda::attention_block
