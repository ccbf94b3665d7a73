// What a block of attention does with the page that it has in shared memory: scores, their weights, and the values
// weighted so. Both products have the page as their fixed operand and queries as the narrow one.
#pragma once

#include "kernels/cuda/attention_stage.cuh"

namespace paceline::kernels::cuda::attention_block {

// What queries have in shared memory beside their rows: three numbers, [queries] each, and two more of four warps each.
struct QueryStats {
  float *sum, *before, *now;
  float *warp_top, *warp_total;  // [4][queries]

  __device__ __forceinline__ QueryStats(char* at, int32_t queries) : sum(reinterpret_cast<float*>(at)) {
    before = sum + queries;
    now = before + queries;
    warp_top = now + queries;
    warp_total = warp_top + 4 * queries;
  }
};

// kNt: tiles of 8 queries. kDt: tiles of 16 dims per warp. kDim: the head's, or 0 where it is a small one.
template <int kNt, int kDt, int kDim>
struct PageProducts {
  static constexpr int kQueries = kNt * 8;
  // Score tiles: four warps along positions; the other four take the other half of the queries, if there are two.
  static constexpr int kScoreNt = kNt == 1 ? 1 : kNt / 2;
  static constexpr int kUnroll = kNt >= 4 ? 2 : 4;
  using Sums = float[kDt][kNt][4];

  const Work& w;
  const Layout& l;
  char* shared;
  uint32_t base;
  int32_t dim;
  QueryStats stats;
  OwnPart own;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  int score_tile = warp % 4, score_first = kNt == 1 ? 0 : warp / 4 * kScoreNt;
  bool scores_here = kNt > 1 || warp < 4, dims_here;
  // Of the two queries that each of this thread's score tiles has: the range it sees.
  int32_t begin[kScoreNt][2], end[kScoreNt][2];
  float scores[kScoreNt][4];

  // Where pages have blocks of their own, values lie where the keys were; 64 queries take the page's values, too.
  __device__ __forceinline__ PageProducts(const AttentionArgs& args, const Work& work, const Layout& layout, char* at,
                                          int32_t head_dim)
      : w(work),
        l(layout),
        shared(at),
        base(shared_address(at)),
        dim(head_dim),
        stats(at + layout.stats, kQueries),
        own{reinterpret_cast<float*>(at + layout.keys), stats.warp_top, stats.warp_total, kQueries, head_dim},
        dims_here(warp * kDt * 16 < head_dim) {
#pragma unroll
    for (int j = 0; j < kScoreNt; ++j)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int32_t query = score_query(j, e), r = query / w.grouped;
        begin[j][e] = query < w.queries ? first_key(args, w.first_pos + r) : 1;
        end[j][e] = query < w.queries ? last_key(args, w.first_row + r, w.first_pos + r) : 0;
      }
  }
  [[nodiscard]] __device__ __forceinline__ int32_t score_query(int j, int e) const {
    return (score_first + j) * 8 + t * 2 + e;
  }
  [[nodiscard]] __device__ __forceinline__ int32_t value_dim(int d, int i) const {
    return (warp * kDt + d) * 16 + g + i / 2 * 8;
  }

  // scores = K q of a page, and the largest of each 16 positions.
  __device__ __forceinline__ void multiply_keys(int32_t page) {
    const uint32_t a_at =
        base + l.keys + (score_tile * 16 + lane % 8 + lane / 8 % 2 * 8) * l.row_stride + lane / 16 * 16;
    const char* b_at = shared + l.queries + (score_first * 8 + g) * l.row_stride + t * 4;
    // Even and odd steps in sums of their own: half as long to wait for.
    float odd[kScoreNt][4] = {};
#pragma unroll
    for (int j = 0; j < kScoreNt; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) scores[j][i] = 0;
    const auto one_step = [&](int32_t step, float(&sums)[kScoreNt][4]) {
      uint4 a;
      ldmatrix4(a_at + step * 32, a.x, a.y, a.z, a.w);
#pragma unroll
      for (int j = 0; j < kScoreNt; ++j) {
        const char* b = b_at + j * 8 * l.row_stride + step * 32;
        mma_bf16(sums[j], a, *reinterpret_cast<const uint32_t*>(b), *reinterpret_cast<const uint32_t*>(b + 16));
      }
    };
    const int32_t steps = kDim > 0 ? kDim / 16 : (dim + 15) / 16;
#pragma unroll kUnroll
    for (int32_t step = 0; step < steps; step += 2) {
      one_step(step, scores);
      if (kDim > 0 || step + 1 < steps) one_step(step + 1, odd);
    }
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
        if (g == 0) stats.warp_top[score_tile * kQueries + score_query(j, e)] = best;
      }
  }

  // exp(score - top) of all, as bf16, and the sums over each 16 positions.
  __device__ __forceinline__ void weigh_scores() const {
#pragma unroll
    for (int j = 0; j < kScoreNt; ++j)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int32_t query = score_query(j, e);
        const float best = own.top(query);
        const float shift = best == kNone ? 0.0f : best;
        const float low = __expf(scores[j][e] - shift), high = __expf(scores[j][e + 2] - shift);
        float total = low + high;
        for (int offset = 4; offset < 32; offset *= 2) total += __shfl_xor_sync(~0u, total, offset);
        if (g == 0) stats.warp_total[score_tile * kQueries + query] = total;
        char* weights = shared + l.weights + query * l.weight_stride + (score_tile * 16 + g) * 2;
        *reinterpret_cast<__nv_bfloat16*>(weights) = __float2bfloat16_rn(low);
        *reinterpret_cast<__nv_bfloat16*>(weights + 16) = __float2bfloat16_rn(high);
      }
  }

  // part = V^T p
  __device__ __forceinline__ void multiply_values(Sums& part) const {
#pragma unroll
    for (int step = 0; step < kPageTokens / 16; ++step) {
      uint4 a[kDt];
#pragma unroll
      for (int d = 0; d < kDt; ++d) {
        const int32_t token = step * 16 + lane % 8 + lane / 16 * 8, at = (warp * kDt + d) * 16 + lane / 8 % 2 * 8;
        ldmatrix4_turned(base + l.values + token * l.row_stride + at * 2, a[d].x, a[d].y, a[d].z, a[d].w);
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

  // What a page does to the sums so far, by the first kQueries threads.
  __device__ __forceinline__ void take_stats(Merge& merge) const {
    const auto query = static_cast<int32_t>(threadIdx.x);
    if (query >= kQueries) return;
    merge.take(own.top(query), own.sum(query));
    stats.before[query] = merge.before;
    stats.now[query] = merge.now;
  }
  __device__ __forceinline__ void take_part(const Sums& part, Sums& out) const {
#pragma unroll
    for (int j = 0; j < kNt; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float was = stats.before[j * 8 + t * 2 + i % 2], is = stats.now[j * 8 + t * 2 + i % 2];
#pragma unroll
        for (int d = 0; d < kDt; ++d) out[d][j][i] = fmaf(part[d][j][i], is, out[d][j][i] * was);
      }
  }

  // Calls write(query, dim, value) for all that this thread has of the queries that are there.
  template <class Write>
  __device__ __forceinline__ void each(const Sums& out, const Write& write) const {
    if (!dims_here) return;
#pragma unroll
    for (int j = 0; j < kNt; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int32_t query = j * 8 + t * 2 + i % 2;
        if (query >= w.queries) continue;
#pragma unroll
        for (int d = 0; d < kDt; ++d)
          if (kDim > 0 || value_dim(d, i) < dim) write(query, value_dim(d, i), out[d][j][i]);
      }
  }
  __device__ __forceinline__ void keep_part(const Sums& out) const {
    auto* values = reinterpret_cast<float*>(shared + l.keys);
    each(out, [&](int32_t query, int32_t at, float value) { values[query * (dim + 4) + at] = value; });
  }
  // Of a block that has walked several pages: as that of one page.
  __device__ __forceinline__ void keep_stats(const Merge& merge) const {
    const auto query = static_cast<int32_t>(threadIdx.x);
    if (query >= kQueries) return;
    for (int i = 0; i < 4; ++i) {
      stats.warp_top[i * kQueries + query] = i == 0 ? merge.top : kNone;
      stats.warp_total[i * kQueries + query] = i == 0 ? merge.sum : 0.0f;
    }
  }
  // Of a block that has walked all pages.
  __device__ __forceinline__ void write_all(const AttentionArgs& args, const Merge& merge, const Sums& out) const {
    if (threadIdx.x < kQueries) stats.sum[threadIdx.x] = merge.sum != 0 ? __fdividef(1.0f, merge.sum) : 0.0f;
    __syncthreads();
    each(out, [&](int32_t query, int32_t at, float value) { write_out(args, w, query, at, value * stats.sum[query]); });
  }
};

}  // namespace paceline::kernels::cuda::attention_block
