// The outputs of a block of attention, and the merging of pages, or of chunks of them, that had a block each.
//
// The block of such a part leaves it, of the queries that are there, values [query][dim] and the top and sum of each
// (handover.cuh). The block of the last one, which is the latest of them, keeps its own, waits for the others, and
// merges all in ascending order: pages into their chunk, which begins from nothing, and chunks. Where that is much for
// one block, further ones behind it have some of the queries each: share s of n has queries s, s + n, ... A thread
// merges four dims of a query, all that it needs asked for at once. Chunks of joined pages may all be
// left, and a block for each query merges them, a thread two of its dims (joined_merge.cuh).
#pragma once

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/handover.cuh"
#include "kernels/cuda/row_bytes.cuh"

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
// Two neighbours.
__device__ __forceinline__ void write_out(const AttentionArgs& args, const Work& w, int32_t query, int32_t at,
                                          const float2& value) {
  const int64_t row = w.first_row + query / w.grouped, head = w.kv_head * w.grouped + query % w.grouped;
  if (args.out != nullptr)
    *reinterpret_cast<float2*>(args.out + (row * args.heads + head) * args.head_dim + at) = value;
  if (args.out_bf16 != nullptr)
    *reinterpret_cast<uint32_t*>(args.out_bf16 + row * args.out_stride + head * args.head_dim + at) =
        pack_bf16(value.x, value.y);
}
// Four neighbours of a head; where they become bytes, by whole warps that have 128 in a row.
__device__ __forceinline__ void write_out(const AttentionArgs& args, const Work& w, int32_t query, int32_t at,
                                          const float4& value) {
  const int64_t row = w.first_row + query / w.grouped, head = w.kv_head * w.grouped + query % w.grouped;
  if (args.out != nullptr)
    *reinterpret_cast<float4*>(args.out + (row * args.heads + head) * args.head_dim + at) = value;
  if (args.out_bf16 != nullptr)
    *reinterpret_cast<uint2*>(args.out_bf16 + row * args.out_stride + head * args.head_dim + at) =
        make_uint2(pack_bf16(value.x, value.y), pack_bf16(value.z, value.w));
  if (args.out_bytes.values != nullptr)
    put_four(args.out_bytes, row, static_cast<int32_t>(head) * args.head_dim + at,
             FourBytes(value, args.out_bytes.group));
}

// A block's own part, in shared memory. Rows are 16 bytes longer than what they hold, so that the lanes
// that write a tile of it meet different banks.
struct OwnPart {
  const float* values;  // [query][dim + 4]
  const float* tops;    // [4][queries]: of a page 16 positions each
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

// Where parts lie that are merged: so many, so far apart, of which the one numbered `border` begins a chunk.
struct PartsAt {
  const float *stats, *values;
  int32_t apart, count, border;
};

// Four dims of a query, merged part after part.
struct MergedDims {
  static constexpr int kAtOnce = 1;
  Merge merge, total;  // of the chunk so far, and of the chunks in front
  float4 value = make_float4(0, 0, 0, 0), total_value = make_float4(0, 0, 0, 0);

  static __device__ __forceinline__ void add(const float4& part, const Merge& merge, float4& to) {
    to.x = fmaf(part.x, merge.now, to.x * merge.before);
    to.y = fmaf(part.y, merge.now, to.y * merge.before);
    to.z = fmaf(part.z, merge.now, to.z * merge.before);
    to.w = fmaf(part.w, merge.now, to.w * merge.before);
  }
  __device__ __forceinline__ void end_chunk() {
    total.take(merge.top, merge.sum);
    add(value, total, total_value);
    merge = Merge();
    value = make_float4(0, 0, 0, 0);
  }
  __device__ __forceinline__ void take(float top, float sum, const float4& part, bool begins_chunk) {
    if (begins_chunk) end_chunk();
    merge.take(top, sum);
    add(part, merge, value);
  }
  // The first of those.
  __device__ __forceinline__ void take_parts(const PartsAt& at) {
    float2 stats;
    float4 part;
    Patience patience;
    while (!is_there(stats = look_pair(at.stats)) || !is_there(part = look(at.values))) patience.rest();
    take(stats.x, stats.y, part, at.border == 0);
  }
};

// The same where all lanes of a warp have dims of one query: kParts parts are asked for together, not a trip to the
// cache each, and what is multiplied with a part is found by one lane, for all parts at the same time. Little code: it
// runs once, and is fetched while it does.
template <int kParts>
struct MergedTogether : MergedDims {
  static constexpr int kAtOnce = kParts;

  __device__ __forceinline__ void take_parts(const PartsAt& at) {
    static_assert(kParts <= kChunkPages);
    const auto lane = static_cast<int32_t>(threadIdx.x % 32);
    const int32_t count = min(at.count, kParts);
    float4 parts[kParts];
    float2 stats;
    Patience patience;
    for (bool there = false; !there;) {
      stats = look_pair(at.stats + min(lane, count - 1) * at.apart);
      // Behind the last one that again: without a condition it takes fewer registers.
#pragma unroll
      for (int k = 0; k < kParts; ++k) parts[k] = look(at.values + min(k, count - 1) * at.apart);
      there = is_there(stats);
#pragma unroll
      for (int k = 0; k < kParts; ++k) there = there && is_there(parts[k]);
      there = __all_sync(~0u, there);
      if (!there) patience.rest();
    }
    // The highest so far of its chunk, of every part.
    float highest = lane < at.border ? fmaxf(merge.top, stats.x) : stats.x;
#pragma unroll 1
    for (int offset = 1; offset < 16; offset *= 2) {
      const float earlier = __shfl_up_sync(~0u, highest, offset);
      if (lane >= offset && (lane < at.border || lane - offset >= at.border)) highest = fmaxf(highest, earlier);
    }
    const float earlier = __shfl_up_sync(~0u, highest, 1);
    Merge part;
    part.weigh(lane == at.border ? kNone : lane == 0 ? merge.top : earlier, stats.x, highest);
    // Once, or twice where a chunk begins among them.
#pragma unroll 1
    for (int32_t begin = 0, end = 0; end < count; begin = end) {
      end = begin < at.border ? min(count, at.border) : count;
      if (begin == at.border) end_chunk();
#pragma unroll
      for (int k = 0; k < kParts; ++k) {
        merge.before = __shfl_sync(~0u, part.before, k);
        merge.now = __shfl_sync(~0u, part.now, k);
        const float sum = __shfl_sync(~0u, stats.y, k);
        if (k < begin || k >= end) continue;
        merge.add(sum);
        add(parts[k], merge, value);
      }
      merge.top = __shfl_sync(~0u, highest, end - 1);
    }
  }
};

// Two dims of a query, merged chunk after chunk; all lanes of a warp have dims of the same one. As many chunks as there
// are lanes are asked for together, and each lane finds what one of them is multiplied with.
struct MergedPair {
  static constexpr int kAtOnce = 32;
  Merge merge;
  float2 value = make_float2(0, 0);

  // `count` chunks, whose tops and sums and values lie so far apart. They are taken away but for the former, which other
  // warps look at, too.
  __device__ __forceinline__ void take(const float* stats_at, float* values, int32_t apart, int32_t count) {
    const auto lane = static_cast<int32_t>(threadIdx.x % 32);
    float2 parts[kAtOnce], stats;
    Patience patience;
    for (bool there = false; !there;) {
      stats = look_pair(stats_at + min(lane, count - 1) * apart);
      // Behind the last one that again: without a condition it takes fewer registers.
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) parts[k] = look_pair(values + min(k, count - 1) * apart);
      there = is_there(stats);
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) there = there && is_there(parts[k]);
      there = __all_sync(~0u, there);
      if (!there) patience.rest();
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k)
      if (k < count) take_away_pair(values + k * apart);
    // The highest so far, of every chunk.
    float highest = fmaxf(merge.top, stats.x);
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) {
      const float earlier = __shfl_up_sync(~0u, highest, offset);
      if (lane >= offset) highest = fmaxf(highest, earlier);
    }
    const float earlier = __shfl_up_sync(~0u, highest, 1);
    Merge part;
    part.weigh(lane == 0 ? merge.top : earlier, stats.x, highest);
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      merge.before = __shfl_sync(~0u, part.before, k);
      merge.now = __shfl_sync(~0u, part.now, k);
      const float sum = __shfl_sync(~0u, stats.y, k);
      if (k >= count) continue;
      merge.add(sum);
      value.x = fmaf(parts[k].x, merge.now, value.x * merge.before);
      value.y = fmaf(parts[k].y, merge.now, value.y * merge.before);
    }
    merge.top = __shfl_sync(~0u, highest, count - 1);
  }
};

struct KeyParts {
  const AttentionArgs& args;
  const Work& w;
  int32_t queries, dim;  // queries: that there is room for
  float* first;          // part

  __device__ __forceinline__ KeyParts(const AttentionArgs& all, const Work& work, int32_t most_queries,
                                      int32_t head_dim)
      : args(all), w(work), queries(most_queries), dim(head_dim) {
    const auto place = static_cast<int64_t>(blockIdx.x) * args.kv_heads + blockIdx.y;
    first = args.partial + place * args.most_parts * part_floats();
  }
  [[nodiscard]] __device__ __forceinline__ int32_t part_floats() const { return queries * (dim + 2); }
  // Behind a part's values: of each query top and sum.
  [[nodiscard]] __device__ __forceinline__ int32_t stats_at(int32_t query) const { return queries * dim + query * 2; }
  // How far behind a part a chunk begins: 0 if it does so itself. Parts that are chunks are not merged into others.
  [[nodiscard]] __device__ __forceinline__ int32_t border_behind(int32_t part) const {
    if (!args.parts_are_pages) return args.most_parts;
    return (kChunkPages - (w.page_begin + part) % kChunkPages) % kChunkPages;
  }

  // What the last part's block leaves is only for others that merge.
  __device__ __forceinline__ void leave_part(int32_t part, const OwnPart& own, bool last) const {
    float* to = first + static_cast<int64_t>(part) * part_floats();
    const auto is_left = [&](int32_t query) { return !last || query % args.merge_shares != 0; };
    const int32_t thread = static_cast<int32_t>(threadIdx.x), quads = dim / 4;
    if (thread < w.queries && is_left(thread))
      leave(to + stats_at(thread), make_float2(own.top(thread), own.sum(thread)));
    for (int32_t i = thread; i < w.queries * quads; i += kThreads) {
      const int32_t query = i / quads, at = i % quads * 4;
      if (is_left(query)) leave(to + query * dim + at, own.four(query, at));
    }
  }

  // Merges all chunks of a query with 512 dims, by a block of its own: a thread has two of them.
  __device__ __forceinline__ void merge_query(int32_t query, int32_t chunks) const {
    const int32_t thread = static_cast<int32_t>(threadIdx.x), at = thread * 2;
    {
      // Until it is worth asking for all: the chunk in front of the last is there a little earlier than that one.
      const float* sign = first + max(chunks - 2, 0) * part_floats() + stats_at(query);
      Patience patience;
      while (!is_there(look_pair(sign))) patience.rest();
    }
    MergedPair merged;
#pragma unroll 1
    for (int32_t base = 0; base < chunks; base += MergedPair::kAtOnce) {
      float* const from = first + base * part_floats();
      merged.take(from + stats_at(query), from + query * dim + at, part_floats(),
                  min(chunks - base, MergedPair::kAtOnce));
    }
    const float factor = merged.merge.sum != 0 ? __fdividef(1.0f, merged.merge.sum) : 0.0f;
    write_out(args, w, query, at, make_float2(merged.value.x * factor, merged.value.y * factor));
    // Once nobody looks at them any more.
    __syncthreads();
    for (int32_t chunk = thread; chunk < chunks; chunk += kThreads)
      take_away_pair(first + chunk * part_floats() + stats_at(query));
  }

  // Merges a share of the queries: the first `others` parts and then this block's own, if it has one.
  template <bool kOwn, class Merging>
  __device__ __forceinline__ void merge_share(int32_t share, int32_t others, const OwnPart& own) const {
    const int32_t shares = args.merge_shares, quads = dim / 4;
    const int32_t mine = (w.queries - share + shares - 1) / shares, count = mine * quads;
    const int32_t thread = static_cast<int32_t>(threadIdx.x);
    if (!kOwn && thread < count) {
      // Until it is worth asking for all: the part in front of the last is there a little earlier than that one.
      const float* sign = first + max(others - 2, 0) * part_floats() + stats_at(share);
      Patience patience;
      while (!is_there(look_pair(sign))) patience.rest();
    }
#pragma unroll 1
    for (int32_t i = thread; i < count; i += kThreads) {
      const int32_t query = share + i / quads * shares, at = i % quads * 4;
      Merging merging;
#pragma unroll 1
      for (int32_t base = 0; base < others; base += Merging::kAtOnce) {
        const float* from = first + base * part_floats();
        merging.take_parts(
            {from + stats_at(query), from + query * dim + at, part_floats(), others - base, border_behind(base)});
      }
      if constexpr (kOwn) merging.take(own.top(query), own.sum(query), own.four(query, at), border_behind(others) == 0);
      merging.end_chunk();
      const float4& value = merging.total_value;
      const float factor = merging.total.sum != 0 ? __fdividef(1.0f, merging.total.sum) : 0.0f;
      write_out(args, w, query, at,
                make_float4(value.x * factor, value.y * factor, value.z * factor, value.w * factor));
    }
    // All is taken away behind the outputs, and tops and sums once nobody looks at them any more.
    __syncthreads();
    for (int32_t i = thread; i < mine * others; i += kThreads)
      take_away_pair(first + i / mine * part_floats() + stats_at(share + i % mine * shares));
#pragma unroll 1
    for (int32_t i = thread; i < count; i += kThreads) {
      float* from = first + (share + i / quads * shares) * dim + i % quads * 4;
#pragma unroll 1
      for (int32_t part = 0; part < others; ++part) take_away(from + part * part_floats());
    }
  }
};

}  // namespace paceline::kernels::cuda::attention_block
