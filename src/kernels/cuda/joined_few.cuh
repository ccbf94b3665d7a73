// What a block does with joined pages for few queries: the same pages, order and operations as attention_joined.cu, and
// so the same bits, with keys and dims as the tensor cores' rows and up to 32 queries as their columns. There a page
// costs a block of few queries what 64 would; here it is what reading it from shared memory takes.
//
// Two warpgroups: one multiplies the even steps of a score and one the odd ones, which are sums of their own; the first
// makes weights of them; and each has half of the output's dims. Three meetings of both for a page.
//
// Where pages are codes, a third warpgroup brings them (coded_pages.cuh), and scores are three sums: of keys' codes,
// and of values' as the warpgroups have them.
#pragma once

#include "kernels/cuda/attention_groups.cuh"
#include "kernels/cuda/attention_merge.cuh"
#include "kernels/cuda/joined_pages.cuh"

namespace paceline::kernels::cuda {
namespace {

using namespace joined_pages;
using attention_groups::kThreads;

constexpr int kGroup = 128;  // threads

template <int kQueries, bool kCodes>
struct FewLayout {
  static constexpr int kQueryBytes = kQueries * kDim * 2;
  static constexpr int kPagesAt = (kQueryBytes + 1023) / 1024 * 1024;
  static constexpr int kWeightsAt = kPagesAt + 2 * kPageBytes;
  static constexpr int kOddAt = kWeightsAt + (kQueries * 128 + 1023) / 1024 * 1024;
  static constexpr int kStatsAt = kOddAt + kGroup * kQueries / 2 * 4;
  static constexpr int kBarriersAt = kStatsAt + 10 * kQueries * 4;
  static constexpr int kScalesAt = kBarriersAt + 32;
  static constexpr int kBytes = kScalesAt + (kCodes ? 4 * kPageTokens * 4 : 0) + 1024;
  static_assert(kBytes <= 232448);
};

#if PACELINE_WARPGROUPS
// Of one page, and what it does to the sums so far, [queries] each.
template <int kQueries>
struct Stats {
  float *tops, *sums;  // [4][queries]: of 16 positions each
  float *before, *now;

  __device__ __forceinline__ explicit Stats(char* at) : tops(reinterpret_cast<float*>(at)) {
    sums = tops + 4 * kQueries;
    before = sums + 4 * kQueries;
    now = before + kQueries;
  }
  [[nodiscard]] __device__ __forceinline__ float top(int32_t query) const {
    float best = tops[query];
    for (int i = 1; i < 4; ++i) best = fmaxf(best, tops[i * kQueries + query]);
    return best;
  }
  [[nodiscard]] __device__ __forceinline__ float sum(int32_t query) const {
    float total = sums[query];
    for (int i = 1; i < 4; ++i) total += sums[i * kQueries + query];
    return total;
  }
};

// A warpgroup's threads meet, and both warpgroups'.
__device__ __forceinline__ void meet_group() { asm volatile("bar.sync 1, 128;" ::: "memory"); }
__device__ __forceinline__ void meet_both() { asm volatile("bar.sync 2, 256;" ::: "memory"); }

template <int kQueries, bool kCodes>
class FewQueries {
 public:
  using L = FewLayout<kQueries, kCodes>;
  static constexpr int kTiles = kQueries / 8;      // of queries
  static constexpr int kSums = kQueries / 2;       // of a product that a thread has
  static constexpr int kDimTiles = kDim / 2 / 64;  // of a warpgroup

  __device__ __forceinline__ FewQueries(const AttentionArgs& args, const Work& w, char* shared)
      : shared_(shared), base_(shared_address(shared)), stats_(shared + L::kStatsAt) {
    if (group_ > 0) return;
#pragma unroll
    for (int j = 0; j < kTiles; ++j)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int32_t query = query_of(j, e), r = query / w.grouped;
        begin_[j][e] = query < w.queries ? first_key(args, w.first_pos + r) : 1;
        end_[j][e] = query < w.queries ? last_key(args, w.first_row + r, w.first_pos + r) : 0;
      }
  }

  // `page` in shared memory, of this number; codes: with scales of values and of keys.
  __device__ __forceinline__ void take_page(uint32_t page, int32_t number, const float* scales) {
    float scores[kSums], keys[kSums];
    if constexpr (kCodes)
      multiply_codes(page, scores, keys);
    else
      multiply_keys(page, scores);
    auto* odd = reinterpret_cast<float*>(shared_ + L::kOddAt) + threadIdx.x % kGroup;
    if (group_ == 1)
      for (int i = 0; i < kSums; ++i) odd[i * kGroup] = scores[i];
    meet_both();
    if (group_ == 0) {
      float by_value[2], by_key[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        by_value[half] = kCodes ? scales[warp_ * 16 + lane_ / 4 + half * 8] : 1.0f;
        by_key[half] = kCodes ? scales[kPageTokens + warp_ * 16 + lane_ / 4 + half * 8] : 1.0f;
      }
#pragma unroll
      for (int i = 0; i < kSums; ++i) {
        scores[i] += odd[i * kGroup];
        if constexpr (kCodes) scores[i] = fmaf(keys[i], by_key[i / 2 % 2], scores[i] * by_value[i / 2 % 2]);
      }
      weigh(scores, number * kPageTokens, by_value);
    }
    meet_both();
    float part[kDimTiles][kSums];
    multiply_values(page, part);
    if (threadIdx.x < kQueries) {
      merge_.take(stats_.top(static_cast<int32_t>(threadIdx.x)), stats_.sum(static_cast<int32_t>(threadIdx.x)));
      stats_.before[threadIdx.x] = merge_.before;
      stats_.now[threadIdx.x] = merge_.now;
    }
    warpgroup_wait<0>();
    // The page and its weights are free, and what they do to the sums is known.
    meet_both();
#pragma unroll
    for (int i = 0; i < kSums; ++i) {
      const float was = stats_.before[query_of(i / 4, i % 2)], is = stats_.now[query_of(i / 4, i % 2)];
#pragma unroll
      for (int d = 0; d < kDimTiles; ++d) out_[d][i] = fmaf(part[d][i], is, out_[d][i] * was);
    }
  }

  // From nothing again.
  __device__ __forceinline__ void begin_part() {
#pragma unroll
    for (int d = 0; d < kDimTiles; ++d)
#pragma unroll
      for (int i = 0; i < kSums; ++i) out_[d][i] = 0;
    merge_ = Merge();
  }
  // What it has so far, for another block (handover.cuh): values [query][dim], and tops and sums.
  __device__ __forceinline__ void leave_part(const Work& w, float* values, float* stats) const {
    each_sum(w, [&](int d, int i, int32_t at) { leave(values + at, out_[d][i]); });
    const auto query = static_cast<int32_t>(threadIdx.x);
    if (query < w.queries) leave(stats + query * 2, make_float2(merge_.top, merge_.sum));
  }
  // Goes on from what another one left so.
  __device__ __forceinline__ void take_part(const Work& w, float* values, float* stats) {
    Patience patience;
    for (bool there = false; !there;) {
      there = true;
      each_sum(w, [&](int d, int i, int32_t at) {
        out_[d][i] = look_one(values + at);
        there = there && is_there(out_[d][i]);
      });
      if (!there) patience.rest();
    }
    each_sum(w, [&](int, int, int32_t at) { take_away_one(values + at); });
    const auto query = static_cast<int32_t>(threadIdx.x);
    if (query >= w.queries) return;
    float2 both;
    while (!is_there(both = look_pair(stats + query * 2))) patience.rest();
    take_away_pair(stats + query * 2);
    merge_.top = both.x;
    merge_.sum = both.y;
  }

  // The block's part, where the pages were.
  __device__ __forceinline__ attention_block::OwnPart keep(const Work& w) {
    meet_both();
    auto* values = reinterpret_cast<float*>(shared_ + L::kPagesAt);
    each_sum<kDim + 4>(w, [&](int d, int i, int32_t at) { values[at] = out_[d][i]; });
    if (threadIdx.x < kQueries)
      for (int i = 0; i < 4; ++i) {
        stats_.tops[i * kQueries + threadIdx.x] = i == 0 ? merge_.top : kNone;
        stats_.sums[i * kQueries + threadIdx.x] = i == 0 ? merge_.sum : 0.0f;
      }
    meet_both();
    return {values, stats_.tops, stats_.sums, kQueries, kDim};
  }

 private:
  // f(d, i, at) for the sums that the thread has of queries that are there, and where each lies, rows of queries being so
  // long.
  template <int kStride = kDim, class F>
  __device__ __forceinline__ void each_sum(const Work& w, const F& f) const {
#pragma unroll
    for (int i = 0; i < kSums; ++i) {
      const int32_t query = query_of(i / 4, i % 2);
      if (query >= w.queries) continue;
#pragma unroll
      for (int d = 0; d < kDimTiles; ++d)
        f(d, i, query * kStride + (group_ * kDimTiles + d) * 64 + warp_ * 16 + lane_ / 4 + i / 2 % 2 * 8);
    }
  }
  [[nodiscard]] __device__ __forceinline__ int32_t query_of(int tile, int e) const {
    return tile * 8 + lane_ % 4 * 2 + e;
  }

  // Half of the steps of all scores: [tile of 8 queries][key g: queries 2t, 2t + 1; key g + 8: the same]
  __device__ __forceinline__ void multiply_keys(uint32_t page, float (&scores)[kSums]) const {
    warpgroup_fence();
#pragma unroll
    for (int i = 0; i < kDim / 32; ++i) {
      // Even steps are in the first half of 64 bytes, odd ones in the second.
      const int panel = i / 2;
      const uint32_t offset = i % 2 * 64 + group_ * 32;
      warpgroup_mma_few<0>(scores, describe(page + key_panel(panel) * kPanelBytes + offset),
                           describe(base_ + panel * (kQueries * 128) + offset), i > 0);
    }
    warpgroup_commit();
    warpgroup_wait<0>();
  }

  // Sums of 128 dims each, two of them: the first warpgroup has what meets keys and a third of what meets values, the
  // other one the rest.
  __device__ __forceinline__ void multiply_codes(uint32_t page, float (&values)[kSums], float (&others)[kSums]) const {
    const uint32_t other_keys = page + (group_ == 0 ? key_panel<true>(0) : 4) * kPanelBytes;
    const uint32_t value_keys = page + (group_ == 0 ? 2 : 6) * kPanelBytes;
    const uint32_t queries = base_ + group_ * 4 * (kQueries * 128);
    warpgroup_fence();
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const uint32_t at = i / 4 * kPanelBytes + i % 4 * 32, query_at = i / 4 * (kQueries * 128) + i % 4 * 32;
      warpgroup_mma_few<0>(others, describe(other_keys + at), describe(queries + query_at), i > 0);
      warpgroup_mma_few<0>(values, describe(value_keys + at), describe(queries + 2 * (kQueries * 128) + query_at),
                           i > 0);
    }
    warpgroup_commit();
    warpgroup_wait<0>();
    if (group_ == 0) return;
#pragma unroll
    for (int i = 0; i < kSums; ++i) values[i] = others[i] + values[i];
  }

  // Scores become weights, with the top and the sum of each 16 positions; in codes, times their values' scales.
  __device__ __forceinline__ void weigh(const float (&scores)[kSums], int32_t first_pos, const float (&by)[2]) {
    const int g = lane_ / 4;
    const int32_t pos = first_pos + warp_ * 16 + g;
    float low[kTiles][2], high[kTiles][2];
#pragma unroll
    for (int j = 0; j < kTiles; ++j)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        low[j][e] = pos < begin_[j][e] || pos > end_[j][e] ? kNone : scores[j * 4 + e];
        high[j][e] = pos + 8 < begin_[j][e] || pos + 8 > end_[j][e] ? kNone : scores[j * 4 + 2 + e];
        float best = fmaxf(low[j][e], high[j][e]);
        for (int offset = 4; offset < 32; offset *= 2) best = fmaxf(best, __shfl_xor_sync(~0u, best, offset));
        if (g == 0) stats_.tops[warp_ * kQueries + query_of(j, e)] = best;
      }
    meet_group();
#pragma unroll
    for (int j = 0; j < kTiles; ++j)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int32_t query = query_of(j, e);
        const float best = stats_.top(query);
        const float shift = best == kNone ? 0.0f : best;
        const float first = __expf(low[j][e] - shift), second = __expf(high[j][e] - shift);
        float total = first + second;
        for (int offset = 4; offset < 32; offset *= 2) total += __shfl_xor_sync(~0u, total, offset);
        if (g == 0) stats_.sums[warp_ * kQueries + query] = total;
        // [query][64 keys], swizzled.
        char* row = shared_ + L::kWeightsAt + query * 128 + g * 2;
        *reinterpret_cast<__nv_bfloat16*>(row + ((warp_ * 2 ^ query % 8) << 4)) =
            __float2bfloat16_rn(kCodes ? first * by[0] : first);
        *reinterpret_cast<__nv_bfloat16*>(row + ((warp_ * 2 + 1 ^ query % 8) << 4)) =
            __float2bfloat16_rn(kCodes ? second * by[1] : second);
      }
    show_copies_to_tensor_cores();
  }

  // part = V^T p, on its way.
  __device__ __forceinline__ void multiply_values(uint32_t page, float (&part)[kDimTiles][kSums]) const {
    warpgroup_fence();
#pragma unroll
    for (int d = 0; d < kDimTiles; ++d)
#pragma unroll
      for (int k = 0; k < kPageTokens / 16; ++k)
        warpgroup_mma_few<1>(part[d],
                             describe_across(page + (group_ * kDimTiles + d) * kPanelBytes + k * 2048, kPanelBytes),
                             describe(base_ + L::kWeightsAt + k * 32), k > 0);
    warpgroup_commit();
  }

  char* shared_;
  uint32_t base_;
  Stats<kQueries> stats_;
  int group_ = threadIdx.x / kGroup, warp_ = threadIdx.x / 32 % 4, lane_ = threadIdx.x % 32;
  int32_t begin_[kTiles][2], end_[kTiles][2];  // keys that the queries see, where weights are made
  float out_[kDimTiles][kSums] = {};
  Merge merge_;  // of query threadIdx.x
};
#endif

}  // namespace
}  // namespace paceline::kernels::cuda
