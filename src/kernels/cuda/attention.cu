// Attention over pages of 64 absolute positions, on the tensor cores.
//
//   q [rows, heads, dim], keys [kv_head][64][dim], values [kv_head][dim][64], bf16 -> out [rows, heads, dim]
// A block has one KV head and up to 64 queries (rows times grouped heads; 32 where heads have 512 dims). Both products
// have the pages as their fixed operand and queries as the narrow one: scores = K q, out = V^T p. A page gives each
// query its top score m, the sum l of exp(score - m), and o = the values weighted so; pages are then merged in
// ascending order,
//   M' = max(M, m), a = exp(M - M'), b = exp(m - M'):  L = L a + l b,  O = O a + o b
// either by the block that walks them all, or, where there are few blocks, each page by a block of its own and merged
// by the last page's (attention_merge.cuh): the same operations, and so the same bits. A key that a query does not see
// counts as minus infinity, and a page of such keys has b = 0 and a = 1: it changes nothing.
//
// Bound: bytes of keys and values at few rows, operations at many. Far from both: 8 us for one row of 31B at 512
// positions on an H200 with its heads, and 13 us for eight rows, where the bytes would take 2.
#include <type_traits>

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/attention_merge.cuh"
#include "kernels/cuda/attention_stage.cuh"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/launch.cuh"

namespace paceline::kernels::cuda {

using namespace attention_block;

namespace {

// kNt: tiles of 8 queries. kDt: tiles of 16 dims per warp. kDim: the head's, or 0 where it is a small one. kSplit: a
// block has one page, and the last page's merges. kHeads: the heads are not ready yet.
template <int kNt, int kDt, int kDim, bool kSplit, bool kHeads>
__global__ void __launch_bounds__(kThreads, kNt <= 2 && kDt <= 2 ? 2 : 1)
    attention_bf16(const __grid_constant__ AttentionArgs args) {
  constexpr int kQueries = kNt * 8;
  // Score tiles: four warps along positions; the other four take the other half of the queries, if there are two.
  constexpr int kScoreNt = kNt == 1 ? 1 : kNt / 2;
  // As many pages at once as there are registers for.
  using Merging = std::conditional_t<(kDim > 0), MergedTogether<kNt <= 2 && kDt <= 2 ? 9 : 12>, MergedDims>;
  constexpr int kUnroll = kNt >= 4 ? 2 : 4;
  extern __shared__ __align__(16) char shared[];
  let_next_start();
  // Tables and pages below the sequence's first row are older than the kernel in front: those are read while it runs.
  const Work w = find_work(args, static_cast<int32_t>(blockIdx.x));
  const int32_t dim = kDim > 0 ? kDim : args.head_dim;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const bool dims_here = warp * kDt * 16 < dim;
  const auto number = static_cast<int32_t>(blockIdx.z);
  // Behind the blocks of pages there are those that only merge, and the first of these has time to write the last page
  // meanwhile. As far as that is what blocks of pages do, it is the same code: there is less to fetch.
  const int32_t share = kSplit ? max(number - args.most_pages + 1, 0) : 0;
  if (share > 0 && w.page_begin >= w.page_end) return;
  // Where this kernel makes the keys itself, nobody else does.
  const bool makes_keys = kHeads && args.head.k != nullptr, writes = makes_keys && share == 1;
  const int32_t page_begin = !kSplit ? w.page_begin : share > 0 ? w.page_end - 1 : w.page_begin + number;
  const int32_t page_end = kSplit ? min(page_begin + 1, w.page_end) : w.page_end;
  if (kSplit && page_begin >= page_end) {
    // Of a block that sees nothing the first one says so.
    if (page_begin != w.page_begin || w.page_begin < w.page_end) return;
    wait_for_previous();
    for (int32_t i = static_cast<int32_t>(threadIdx.x) * 4; i < w.queries * dim; i += kThreads * 4)
      write_out(args, w, i / dim, i % dim, make_float4(0, 0, 0, 0));
    return;
  }
  const Layout l = layout_of(dim, kQueries);
  auto* sum = reinterpret_cast<float*>(shared + l.stats);
  float* before = sum + kQueries;
  float* now = before + kQueries;
  float* warp_top = now + kQueries;             // [4][kQueries]
  float* warp_total = warp_top + 4 * kQueries;  // [4][kQueries]
  const uint32_t base = shared_address(shared);
  const int64_t head_bytes = static_cast<int64_t>(dim) * kPageTokens * 2;
  const auto slot_of = [&](int32_t page) { return w.seq->slots == 0 ? page : page % w.seq->slots; };
  const auto copy_keys = [&](int32_t page) {
    copy_page<kDim * 2>(w.seq->keys[slot_of(page)], head_bytes, w.kv_head, kPageTokens, dim * 2, base + l.keys,
                        l.key_stride);
  };
  const auto copy_values = [&](int32_t page) {
    copy_page<kPageTokens * 2>(w.seq->values[slot_of(page)], head_bytes, w.kv_head, dim, kPageTokens * 2,
                               base + l.values, l.value_stride);
  };
  const bool old = makes_keys || (page_begin + 1) * kPageTokens <= w.seq->first_pos;
  const bool makes_these = makes_keys && (page_begin + 1) * kPageTokens > w.seq->first_pos;
  constexpr int kPairs = kDim > 0 ? kDim / 64 : 4;
  HeadRow<kPairs> q_weights;
  NewKeys<kPairs> new_keys;
  if (kHeads && share == 0) q_weights.load(args.head.q_weight, dim / 2, 1.0f);
  if (!old) wait_for_previous();
  if (page_begin < page_end && share == 0) copy_keys(page_begin);
  commit_copies();
  if (page_begin < page_end && share == 0) copy_values(page_begin);
  commit_copies();
  if (old || share > 0) wait_for_previous();
  if (share == 0 || writes) {
    if (makes_these) new_keys.ask_first(args, w, writes ? w.first_pos : w.seq->first_pos, page_begin, dim);
    if (share == 0)
      stage_queries<kQueries, kPairs, kHeads>(args, w, dim, q_weights, shared + l.queries, l.query_stride);
    if (makes_these) new_keys.make_all(args, w, dim, shared, l);
  }
  if constexpr (kSplit) {
    if (share > 0) {
      __syncthreads();
      if (writes) write_page(w, page_begin, dim, shared, l, static_cast<int32_t>(threadIdx.x), kThreads);
      PageParts(args, w, kQueries, dim).merge_share<false, Merging>(share, w.page_end - w.page_begin, {});
      return;
    }
  }

  float out[kDt][kNt][4] = {};
  Merge merge;  // of query threadIdx.x, in the first kQueries threads
  const int score_tile = warp % 4, score_first = kNt == 1 ? 0 : warp / 4 * kScoreNt;
  const bool scores_here = kNt > 1 || warp < 4;
  // Where pages have blocks of their own, values lie where the keys were; 64 queries take the page's values, too.
  auto* own_values = reinterpret_cast<float*>(shared + l.keys);
  const OwnPart own{own_values, warp_top, warp_total, kQueries, dim};
  // Of the two queries that each of this thread's score tiles has: the range it sees.
  int32_t begin[kScoreNt][2], end[kScoreNt][2];
#pragma unroll
  for (int j = 0; j < kScoreNt; ++j)
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int32_t query = (score_first + j) * 8 + t * 2 + e, r = query / w.grouped;
      begin[j][e] = query < w.queries ? first_key(args, w.first_pos + r) : 1;
      end[j][e] = query < w.queries ? last_key(args, w.first_row + r, w.first_pos + r) : 0;
    }

  for (int32_t page = page_begin; page < page_end; ++page) {
    wait_copies<1>();
    __syncthreads();
    float scores[kScoreNt][4] = {};
    if (scores_here) {
      const uint32_t a_at =
          base + l.keys + (score_tile * 16 + lane % 8 + lane / 8 % 2 * 8) * l.key_stride + lane / 16 * 16;
      const char* b_at = shared + l.queries + (score_first * 8 + g) * l.query_stride + t * 4;
      // Even and odd steps in sums of their own: half as long to wait for.
      float odd[kScoreNt][4] = {};
      const auto one_step = [&](int32_t step, float(&sums)[kScoreNt][4]) {
        uint4 a;
        ldmatrix4(a_at + step * 32, a.x, a.y, a.z, a.w);
#pragma unroll
        for (int j = 0; j < kScoreNt; ++j) {
          const char* b = b_at + j * 8 * l.query_stride + step * 32;
          mma_bf16(sums[j], a, *reinterpret_cast<const uint32_t*>(b), *reinterpret_cast<const uint32_t*>(b + 16));
        }
      };
#pragma unroll kUnroll
      for (int32_t step = 0; step < dim / 16; step += 2) {
        one_step(step, scores);
        if (kDim > 0 || step + 1 < dim / 16) one_step(step + 1, odd);
      }
      // Mask, and the largest of these 16 positions.
      const int32_t pos = page * kPageTokens + score_tile * 16 + g;
#pragma unroll
      for (int j = 0; j < kScoreNt; ++j)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& low = scores[j][e];
          float& high = scores[j][e + 2];
          low += odd[j][e];
          high += odd[j][e + 2];
          if (pos < begin[j][e] || pos > end[j][e]) low = kNone;
          if (pos + 8 < begin[j][e] || pos + 8 > end[j][e]) high = kNone;
          float best = fmaxf(low, high);
          for (int offset = 4; offset < 32; offset *= 2) best = fmaxf(best, __shfl_xor_sync(~0u, best, offset));
          if (g == 0) warp_top[score_tile * kQueries + (score_first + j) * 8 + t * 2 + e] = best;
        }
    }
    // New keys and values go into the page, if nobody else writes it: by the warps without scores, if there are any.
    constexpr int32_t kWriters = kNt == 1 ? kThreads / 2 : kThreads;
    const bool is_written = args.merge_shares > 1 && page == w.page_end - 1;
    if (makes_these && !is_written && (kNt > 1 || !scores_here))
      write_page(w, page, dim, shared, l, static_cast<int32_t>(threadIdx.x) % kWriters, kWriters);
    __syncthreads();
    // Keys are free: the next page's may come while this one's values are used.
    if (page + 1 < page_end) copy_keys(page + 1);
    commit_copies();
    if (scores_here) {
#pragma unroll
      for (int j = 0; j < kScoreNt; ++j)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int32_t query = (score_first + j) * 8 + t * 2 + e;
          const float best = own.top(query);
          const float shift = best == kNone ? 0.0f : best;
          const float low = __expf(scores[j][e] - shift), high = __expf(scores[j][e + 2] - shift);
          float total = low + high;
          for (int offset = 4; offset < 32; offset *= 2) total += __shfl_xor_sync(~0u, total, offset);
          if (g == 0) warp_total[score_tile * kQueries + query] = total;
          char* weights = shared + l.weights + query * l.weight_stride + (score_tile * 16 + g) * 2;
          *reinterpret_cast<__nv_bfloat16*>(weights) = __float2bfloat16_rn(low);
          *reinterpret_cast<__nv_bfloat16*>(weights + 16) = __float2bfloat16_rn(high);
        }
    }
    wait_copies<1>();
    __syncthreads();
    if (!kSplit && threadIdx.x < kQueries) {
      const auto query = static_cast<int32_t>(threadIdx.x);
      merge.take(own.top(query), own.sum(query));
      before[threadIdx.x] = merge.before;
      now[threadIdx.x] = merge.now;
    }
    float part[kDt][kNt][4] = {};
    if (dims_here) {
#pragma unroll
      for (int step = 0; step < kPageTokens / 16; ++step) {
        uint4 a[kDt];
#pragma unroll
        for (int d = 0; d < kDt; ++d) {
          const int32_t row = (warp * kDt + d) * 16 + lane % 8 + lane / 8 % 2 * 8;
          ldmatrix4(base + l.values + row * l.value_stride + step * 32 + lane / 16 * 16, a[d].x, a[d].y, a[d].z,
                    a[d].w);
        }
#pragma unroll
        for (int j = 0; j < kNt; ++j) {
          const char* b = shared + l.weights + (j * 8 + g) * l.weight_stride + step * 32 + t * 4;
          const uint32_t b0 = *reinterpret_cast<const uint32_t*>(b), b1 = *reinterpret_cast<const uint32_t*>(b + 16);
#pragma unroll
          for (int d = 0; d < kDt; ++d) mma_bf16(part[d][j], a[d], b0, b1);
        }
      }
    }
    if (!kSplit) __syncthreads();
    if (page + 1 < page_end) copy_values(page + 1);
    commit_copies();
#pragma unroll
    for (int j = 0; j < kNt; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float was = kSplit ? 0.0f : before[j * 8 + t * 2 + i % 2],
                    is = kSplit ? 1.0f : now[j * 8 + t * 2 + i % 2];
#pragma unroll
        for (int d = 0; d < kDt; ++d)
          out[d][j][i] = kSplit ? part[d][j][i] : fmaf(part[d][j][i], is, out[d][j][i] * was);
      }
  }
  if constexpr (kSplit) {
    if (kNt == 8) __syncthreads();
    if (dims_here)
#pragma unroll
      for (int j = 0; j < kNt; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int32_t query = j * 8 + t * 2 + i % 2;
          if (query >= w.queries) continue;
#pragma unroll
          for (int d = 0; d < kDt; ++d)
            own_values[query * (dim + 4) + (warp * kDt + d) * 16 + g + i / 2 * 8] = out[d][j][i];
        }
    __syncthreads();
    const PageParts parts(args, w, kQueries, dim);
    const int32_t page = page_begin - w.page_begin;
    const bool last = page_end == w.page_end;
    if (!last || args.merge_shares > 1) parts.leave_part(page, own, last);
    if (last) parts.merge_share<true, Merging>(0, page, own);
  } else {
    wait_copies<0>();
    if (threadIdx.x < kQueries) sum[threadIdx.x] = merge.sum != 0 ? __fdividef(1.0f, merge.sum) : 0.0f;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kNt; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int32_t query = j * 8 + t * 2 + i % 2;
        if (query >= w.queries || !dims_here) continue;
#pragma unroll
        for (int d = 0; d < kDt; ++d)
          write_out(args, w, query, (warp * kDt + d) * 16 + g + i / 2 * 8, out[d][j][i] * sum[query]);
      }
  }
}

template <int kNt, int kDt, int kDim, bool kSplit, bool kHeads>
void start(const AttentionArgs& args, Stream stream) {
  const auto bytes = static_cast<size_t>(layout_of(args.head_dim, kNt * 8).bytes);
  const dim3 grid(static_cast<unsigned>(args.block_count), static_cast<unsigned>(args.kv_heads),
                  static_cast<unsigned>(kSplit ? args.most_pages + args.merge_shares - 1 : 1));
  launch(attention_bf16<kNt, kDt, kDim, kSplit, kHeads>, grid, dim3(kThreads), bytes, stream, true, args);
}

template <int kNt, int kDt, int kDim>
void start(const AttentionArgs& args, Stream stream) {
  if (!attention_splits(args.block_count, args.kv_heads, args.most_pages)) {
    start<kNt, kDt, kDim, false, false>(args, stream);
    return;
  }
  if constexpr (kNt * 8 <= kMostQueriesMadeReady)
    if (args.makes_heads) return start<kNt, kDt, kDim, true, true>(args, stream);
  start<kNt, kDt, kDim, true, false>(args, stream);
}

template <int kNt>
void start_dim(const AttentionArgs& args, Stream stream) {
  if (args.head_dim == 256)
    start<kNt, 2, 256>(args, stream);
  else if (args.head_dim <= 128)
    start<kNt, 1, 0>(args, stream);
  else if (args.head_dim < 256)
    start<kNt, 2, 0>(args, stream);
  else if constexpr (kNt <= kMaxQueries512 / 8)
    start<kNt, 4, 512>(args, stream);
}

}  // namespace

void attention(const AttentionArgs& args, Stream stream) {
  if (args.wide_kv) return attention_f32(args, stream);
  const int32_t queries = queries_of(args.heads, args.kv_heads, args.block_rows);
  if (queries <= 8)
    start_dim<1>(args, stream);
  else if (queries <= 16)
    start_dim<2>(args, stream);
  else if (queries <= 32)
    start_dim<4>(args, stream);
  else
    start_dim<8>(args, stream);
}

}  // namespace paceline::kernels::cuda
