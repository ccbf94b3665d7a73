// What a block of attention has in shared memory: pages, queries, and keys and values that it makes itself.
#pragma once

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/attention_merge.cuh"
#include "kernels/cuda/heads.cuh"

namespace paceline::kernels::cuda::attention_block {

struct Layout {
  int32_t row_stride, weight_stride;              // bytes in shared memory: of a head's numbers, of a page's weights
  int32_t keys, values, queries, weights, stats;  // offsets
  int32_t bytes;
};

// Rows are 16 bytes longer than what they hold, so that neighbouring rows start in different banks.
PACELINE_BOTH constexpr Layout layout_of(int32_t dim, int32_t queries) {
  Layout l{};
  l.row_stride = dim * 2 + 16;
  l.weight_stride = kPageTokens * 2 + 16;
  l.keys = 0;
  l.values = l.keys + kPageTokens * l.row_stride;
  l.queries = l.values + kPageTokens * l.row_stride;
  l.weights = l.queries + queries * l.row_stride;
  l.stats = l.weights + queries * l.weight_stride;  // top, sum, two factors, and two of four warps each
  l.bytes = l.stats + queries * 4 * 12;
  return l;
}

// Where the last tile of 16 dims is half of a head's, keys and queries have zeros behind them. (Values of it are those
// of whatever lies there, and nobody asks for them.)
__device__ __forceinline__ void clear_half_tile(char* shared, const Layout& l, int32_t dim, int32_t queries) {
  if (dim % 16 == 0) return;
  for (int32_t i = threadIdx.x; i < kPageTokens + queries; i += kThreads) {
    char* row =
        i < kPageTokens ? shared + l.keys + i * l.row_stride : shared + l.queries + (i - kPageTokens) * l.row_stride;
    *reinterpret_cast<uint4*>(row + dim * 2) = make_uint4(0, 0, 0, 0);
  }
}

// Keys or values of a page. kDim 0: as told.
template <int kDim>
__device__ __forceinline__ void copy_page(const void* page, int32_t kv_head, int32_t dim, uint32_t to, int32_t stride) {
  const char* from = static_cast<const char*>(page) + static_cast<int64_t>(kv_head) * kPageTokens * dim * 2;
  const int32_t chunks = (kDim > 0 ? kDim : dim) / 8;
#pragma unroll 8
  for (int32_t i = threadIdx.x; i < kPageTokens * chunks; i += kThreads)
    copy16_async(to + i / chunks * stride + i % chunks * 16, from + static_cast<int64_t>(i) * 16, true);
}

// Queries in shared memory as bf16, zeros where there is none: as they come, or made ready here.
template <int kQueries, int kPairs, bool kHeads>
__device__ __forceinline__ void stage_queries(const AttentionArgs& args, const Work& w, int32_t dim,
                                              const HeadRow<kPairs>& weights, char* to, int32_t stride) {
  if constexpr (kHeads) {
    // All of a warp's at once: their loads are on their way together.
    constexpr int kWarps = kThreads / 32, kAtOnce = kQueries / kWarps;
    static_assert(kAtOnce <= 4);
    const auto first = static_cast<int32_t>(threadIdx.x / 32);
    if (first >= w.queries) {
      for (int i = 0; i < kAtOnce; ++i)
        for (int32_t at = static_cast<int32_t>(threadIdx.x % 32) * 8; at < dim; at += 256)
          *reinterpret_cast<uint4*>(to + (first + i * kWarps) * stride + at * 2) = make_uint4(0, 0, 0, 0);
      return;
    }
    const HeadHalves halves{dim / 2, args.head.turned};
    HeadRow<kPairs> values[kAtOnce], angle[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int32_t query = first + i * kWarps;
      const int64_t row = w.first_row + query / w.grouped, head = w.kv_head * w.grouped + query % w.grouped;
      const bool has = query < w.queries;
      values[i].load(has ? args.q + (row * args.heads + head) * dim : nullptr, halves, 0.0f);
      angle[i].load_angle(has ? args.head.cos + row * halves.turned : nullptr,
                          has ? args.head.sin + row * halves.turned : nullptr, halves);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      values[i].norm(weights, dim, args.head.eps);
      values[i].turn(angle[i]);
      values[i].each_four(halves, [&](int32_t at, const float4& four) {
        *reinterpret_cast<uint2*>(to + (first + i * kWarps) * stride + at * 2) =
            make_uint2(pack_bf16(four.x, four.y), pack_bf16(four.z, four.w));
      });
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

// Keys and values of the sequence's rows from a position on that lie in a page, up to the block's last: a job each, and
// a warp has two jobs at once, both of keys or both of values, so that loads of both are on their way together.
template <int kPairs>
struct NewKeys {
  static constexpr int kWarps = kThreads / 32, kAtOnce = 2;
  HeadRow<kPairs> weights, values[kAtOnce], angle[kAtOnce];
  float value[kAtOnce];  // of keys: zero, unless the value that goes with it is not finite
  int32_t begin, jobs;
  int32_t first;  // of the warp's jobs; the other is kWarps behind it

  __device__ __forceinline__ void ask(const AttentionArgs& args, const Work& w, int32_t dim) {
    if (first >= jobs) return;
    const bool is_key = first % 2 == 0;
    const HeadHalves halves{dim / 2, args.head.turned};
    weights.load(is_key ? args.head.k_weight : nullptr, halves, 1.0f);
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int32_t job = first + i * kWarps;
      if (job >= jobs) continue;
      const int64_t row = w.seq->first_row + begin + job / 2 - w.seq->first_pos;
      const int64_t from = (row * args.kv_heads + w.kv_head) * dim;
      values[i].load((is_key ? args.head.k : args.head.v) + from, halves, 0.0f);
      if (!is_key) continue;
      angle[i].load_angle(args.head.cos + row * halves.turned, args.head.sin + row * halves.turned, halves);
      value[i] = times_nothing(args.head.v + from, dim);
    }
  }
  __device__ __forceinline__ void ask_first(const AttentionArgs& args, const Work& w, int32_t from_pos, int32_t page,
                                            int32_t dim) {
    begin = max(from_pos, page * kPageTokens);
    jobs = (min(w.first_pos + w.rows, (page + 1) * kPageTokens) - begin) * 2;
    // The last warps begin: the first ones have queries.
    first = kWarps - 1 - static_cast<int32_t>(threadIdx.x / 32);
    ask(args, w, dim);
  }
  __device__ __forceinline__ void make(const AttentionArgs& args, int32_t dim) {
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (first + i * kWarps >= jobs) continue;
      if (first % 2 == 0 || args.head.norms_values) values[i].norm(weights, dim, args.head.eps);
      if (first % 2 == 0) {
        values[i].turn(angle[i]);
        values[i].fail_key(is_finite_head(value[i]));
      } else {
        values[i].fail_value();
      }
    }
  }
  __device__ __forceinline__ void put(int32_t dim, int32_t turned, char* shared, const Layout& l) const {
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int32_t job = first + i * kWarps;
      if (job >= jobs) continue;
      char* row = shared + (first % 2 == 0 ? l.keys : l.values) + (begin + job / 2) % kPageTokens * l.row_stride;
      values[i].each_four(HeadHalves{dim / 2, turned}, [&](int32_t at, const float4& four) {
        *reinterpret_cast<uint2*>(row + at * 2) = make_uint2(pack_bf16(four.x, four.y), pack_bf16(four.z, four.w));
      });
    }
  }
  // What was asked for first and all others: into the copy of the page in shared memory, once that is there.
  __device__ __forceinline__ void make_all(const AttentionArgs& args, const Work& w, int32_t dim, char* shared,
                                           const Layout& l) {
    make(args, dim);
    wait_copies<0>();
    __syncthreads();
    put(dim, args.head.turned, shared, l);
#pragma unroll 1
    for (first += kWarps * kAtOnce; first < jobs; first += kWarps * kAtOnce) {
      ask(args, w, dim);
      make(args, dim);
      put(dim, args.head.turned, shared, l);
    }
  }
};

// Keys and values of the block's own rows that lie in this page: from the copy in shared memory, where they have been
// made, into the page itself. By `threads` threads, of which this is one.
__device__ __forceinline__ void write_page(const Work& w, int32_t page, int32_t dim, const char* shared,
                                           const Layout& l, int32_t thread, int32_t threads) {
  const int32_t page_pos = page * kPageTokens;
  const int32_t begin = max(w.first_pos - page_pos, 0), end = min(w.first_pos + w.rows - page_pos, kPageTokens);
  if (begin >= end) return;
  const int64_t base = static_cast<int64_t>(w.kv_head) * kPageTokens * dim * 2;
  char* keys = static_cast<char*>(w.seq->keys_of(page)) + base;
  char* values = static_cast<char*>(w.seq->values_of(page)) + base;
  const int32_t chunks = dim / 8;
  for (int32_t i = thread; i < (end - begin) * chunks; i += threads) {
    const int32_t token = begin + i / chunks, at = i % chunks * 16;
    const char* from = shared + token * l.row_stride + at;
    *reinterpret_cast<uint4*>(keys + token * dim * 2 + at) = *reinterpret_cast<const uint4*>(from + l.keys);
    *reinterpret_cast<uint4*>(values + token * dim * 2 + at) = *reinterpret_cast<const uint4*>(from + l.values);
  }
}

}  // namespace paceline::kernels::cuda::attention_block
