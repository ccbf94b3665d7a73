// What a block does with joined pages for few queries: the same pages, order and operations as attention_joined.cu, and
// so the same bits, with keys and dims as the tensor cores' rows and up to 32 queries as their columns. There a page
// costs a block of few queries what 64 would; here it is what reading it from shared memory takes.
//
// Three warpgroups, and those who bring pages, a piece at a time (joined_ring.cuh): a thread, or two warpgroups where
// pages are codes. Two have half of the output's dims each; the third makes weights of a page while they multiply the
// values of the one before it. Weights, and what a page does to the sums so far, have two places by turns.
//
// Of bf16 even and odd steps of a score are sums of their own. Of codes there are sums of 128 dims: of what meets keys,
// and three of what meets values.
#pragma once

#include "kernels/cuda/attention_groups.cuh"
#include "kernels/cuda/attention_merge.cuh"
#include "kernels/cuda/joined_ring.cuh"

namespace paceline::kernels::cuda {
namespace {

using namespace joined_pages;

constexpr int kGroup = 128;  // threads
constexpr int kOutThreads = 2 * kGroup, kUsingThreads = 3 * kGroup;
static_assert(kOutThreads == attention_block::kThreads);

template <int kQueriesOf, bool kCodesOf>
struct FewLayout {
  static constexpr int kQueries = kQueriesOf;
  static constexpr bool kCodes = kCodesOf;
  static constexpr int kTiles = kQueries / 8;      // of queries
  static constexpr int kSums = kQueries / 2;       // of a product that a thread has
  static constexpr int kDimTiles = kDim / 2 / 64;  // of a warpgroup
  // Of bf16 one of them has something to do: warpgroups can give each other registers.
  static constexpr int kBringThreads = kCodes ? 2 * kGroup : kGroup, kThreads = kUsingThreads + kBringThreads;
  static constexpr int kBringRegisters = kCodes ? 88 : 40, kWeightRegisters = kCodes ? 112 : 136,
                       kOutRegisters = kCodes ? 96 : 168;

  static constexpr int kPlaces = kQueries > 16 ? 11 : 12;
  static constexpr int kWeightBytes = kQueries * 128;
  static constexpr int kPiecesAt = (kQueries * kDim * 2 + 1023) / 1024 * 1024;
  static constexpr int kWeightsAt = kPiecesAt + kPlaces * kPieceBytes;
  static constexpr int kFactorsAt = kWeightsAt + 2 * kWeightBytes;
  static constexpr int kStatsAt = kFactorsAt + 2 * kQueries * 8;
  static constexpr int kBarriersAt = kStatsAt + 2 * 8 * kQueries * 4;
  // Barriers: weights are there, twice, and are not needed any more, twice.
  static constexpr int kTurnsAt = kBarriersAt + 2 * kPlaces * 8;
  static constexpr int kScalesAt = kTurnsAt + 32;
  static constexpr int kBytes = kScalesAt + (kCodes ? 4 * 2 * kPageTokens * 4 : 0) + 1024;
  static_assert(kBytes <= 232448 && kWeightBytes % 1024 == 0);
};

// start(layout) with the smallest that has room for a part's queries.
template <class Start>
void with_few_layout(const AttentionArgs& args, const Start& start) {
  const int32_t queries = args.part_queries;
  if (args.codes) return queries <= 8 ? start(FewLayout<8, true>()) : start(FewLayout<16, true>());
  if (queries <= 8) return start(FewLayout<8, false>());
  if (queries <= 16) return start(FewLayout<16, false>());
  start(FewLayout<32, false>());
}

#if PACELINE_WARPGROUPS
template <class L>
using RingOf = PieceRing<L::kPlaces>;

// The warpgroup that makes weights meets, those that have outputs, and all three.
__device__ __forceinline__ void meet_weights() { asm volatile("bar.sync 1, 128;" ::: "memory"); }
__device__ __forceinline__ void meet_outputs() { asm volatile("bar.sync 2, 256;" ::: "memory"); }
__device__ __forceinline__ void meet_all() { asm volatile("bar.sync 3, 384;" ::: "memory"); }

// The query that a thread has of a tile of eight.
__device__ __forceinline__ int32_t query_of(int tile, int e) {
  return tile * 8 + static_cast<int32_t>(threadIdx.x) % 4 * 2 + e;
}

// Weights and factors of two pages by turns.
template <class L>
struct WeightTurns {
  char* shared;
  uint32_t barriers;

  __device__ __forceinline__ explicit WeightTurns(char* block)
      : shared(block), barriers(shared_address(block) + L::kTurnsAt) {}
  __device__ __forceinline__ void init() const {
    for (int turn = 0; turn < 2; ++turn) {
      init_barrier(barriers + turn * 8, kGroup);
      init_barrier(barriers + 16 + turn * 8, kOutThreads / 32);
    }
  }
  [[nodiscard]] __device__ __forceinline__ char* weights(int32_t number) const {
    return shared + L::kWeightsAt + number % 2 * L::kWeightBytes;
  }
  // [query] before, now
  [[nodiscard]] __device__ __forceinline__ float2* factors(int32_t number) const {
    return reinterpret_cast<float2*>(shared + L::kFactorsAt) + number % 2 * L::kQueries;
  }
  __device__ __forceinline__ void show(int32_t number) const { arrive(barriers + number % 2 * 8); }
  __device__ __forceinline__ void wait(int32_t number) const {
    wait_barrier(barriers + number % 2 * 8, static_cast<uint32_t>(number / 2 % 2));
  }
  __device__ __forceinline__ void free(int32_t number) const { arrive(barriers + 16 + number % 2 * 8); }
  __device__ __forceinline__ void wait_free(int32_t number) const {
    if (number >= 2) wait_barrier(barriers + 16 + number % 2 * 8, static_cast<uint32_t>((number / 2 + 1) % 2));
  }
};

// The warpgroup that makes weights. `number`: of a page among those of the block.
template <class L>
class FewWeights {
 public:
  __device__ __forceinline__ FewWeights(const AttentionArgs& args, const Work& w, char* shared)
      : shared_(shared), base_(shared_address(shared)), turns_(shared) {
#pragma unroll
    for (int j = 0; j < L::kTiles; ++j)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int32_t query = query_of(j, e), r = query / w.grouped;
        begin_[j][e] = query < w.queries ? first_key(args, w.first_pos + r) : 1;
        end_[j][e] = query < w.queries ? last_key(args, w.first_row + r, w.first_pos + r) : 0;
      }
  }

  __device__ __forceinline__ void take_page(const RingOf<L>& ring, int32_t number, int32_t page) {
    float scores[L::kSums], by_value[2] = {1.0f, 1.0f};
    if constexpr (L::kCodes)
      multiply_codes(ring, number, scores, by_value);
    else
      multiply(ring, number * kPiecesOfPage, scores);
    // Only these products read keys.
    if (lane_ == 0) ring.free(number * kPiecesOfPage);
    weigh(scores, number, page * kPageTokens, by_value);
    meet_weights();
    if (thread_ < L::kQueries) {
      const float* tops = tops_of(number) + thread_;
      float top = tops[0], sum = tops[4 * L::kQueries];
      for (int i = 1; i < 4; ++i) {
        top = fmaxf(top, tops[i * L::kQueries]);
        sum += tops[(4 + i) * L::kQueries];
      }
      merge_.take(top, sum);
      turns_.factors(number)[thread_] = make_float2(merge_.before, merge_.now);
    }
    turns_.show(number);
  }

  __device__ __forceinline__ void begin_part() { merge_ = Merge(); }
  // Top and sum of each query so far, for another block (handover.cuh).
  __device__ __forceinline__ void leave_part(const Work& w, float*, float* stats) const {
    if (thread_ < w.queries) leave(stats + thread_ * 2, make_float2(merge_.top, merge_.sum));
  }
  // Goes on from what another one left so.
  __device__ __forceinline__ void take_part(const Work& w, float*, float* stats) {
    if (thread_ < w.queries) {
      Patience patience;
      float2 both;
      while (!is_there(both = look_pair(stats + thread_ * 2))) patience.rest();
      take_away_pair(stats + thread_ * 2);
      merge_.top = both.x;
      merge_.sum = both.y;
    }
    __syncwarp();
  }
  // As an OwnPart has them.
  __device__ __forceinline__ void keep() const {
    meet_weights();
    if (thread_ >= L::kQueries) return;
    for (int i = 0; i < 4; ++i) {
      tops_of(0)[i * L::kQueries + thread_] = i == 0 ? merge_.top : kNone;
      tops_of(0)[(4 + i) * L::kQueries + thread_] = i == 0 ? merge_.sum : 0.0f;
    }
  }

 private:
  // Of 16 positions each [4][queries], and behind them their sums.
  [[nodiscard]] __device__ __forceinline__ float* tops_of(int32_t number) const {
    return reinterpret_cast<float*>(shared_ + L::kStatsAt) + number % 2 * (8 * L::kQueries);
  }

  // Where a panel of queries' dims meets keys, once they are there.
  [[nodiscard]] __device__ __forceinline__ uint32_t keys_at(const RingOf<L>& ring, int32_t first_piece,
                                                            int panel) const {
    const int from = key_panel<L::kCodes>(panel);
    const int32_t piece = first_piece + piece_of(from);
    if (meets_first<L::kCodes>(panel)) {
      ring.wait_there(piece);
      warpgroup_fence();
    }
    return ring.at(piece) + from % 2 * kPanelBytes;
  }
  __device__ __forceinline__ void multiply_step(float (&sums)[L::kSums], uint32_t keys, int panel, int step,
                                                int keep) const {
    warpgroup_mma_few<0>(sums, describe(keys + step * 32), describe(base_ + panel * (L::kQueries * 128) + step * 32),
                         keep);
  }
  // [tile of 8 queries][key g: queries 2t, 2t + 1; key g + 8: the same]
  __device__ __forceinline__ void multiply(const RingOf<L>& ring, int32_t first_piece,
                                           float (&scores)[L::kSums]) const {
    float odd[L::kSums];
#pragma unroll
    for (int panel = 0; panel < kDim / 64; ++panel) {
      const uint32_t keys = keys_at(ring, first_piece, panel);
#pragma unroll
      for (int step = 0; step < 4; step += 2) {
        multiply_step(scores, keys, panel, step, panel + step > 0);
        multiply_step(odd, keys, panel, step + 1, panel + step > 0);
      }
    }
    warpgroup_commit();
    warpgroup_wait<0>();
#pragma unroll
    for (int i = 0; i < L::kSums; ++i) scores[i] += odd[i];
  }
  __device__ __forceinline__ void multiply_codes(const RingOf<L>& ring, int32_t number, float (&scores)[L::kSums],
                                                 float (&by_value)[2]) const {
    float keys[L::kSums], last[2][L::kSums];
#pragma unroll
    for (int panel = 0; panel < kDim / 64; ++panel) {
      const uint32_t at = keys_at(ring, number * kPiecesOfPage, panel);
#pragma unroll
      for (int step = 0; step < 4; ++step)
        multiply_step(panel < 2   ? keys
                      : panel < 4 ? scores
                                  : last[panel / 2 - 2],
                      at, panel, step, panel % 2 + step > 0);
    }
    warpgroup_commit();
    const float* scales = reinterpret_cast<const float*>(shared_ + L::kScalesAt) + number % 4 * (2 * kPageTokens);
    float by_key[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      by_value[half] = scales[warp_ * 16 + lane_ / 4 + half * 8];
      by_key[half] = scales[kPageTokens + warp_ * 16 + lane_ / 4 + half * 8];
    }
    warpgroup_wait<0>();
#pragma unroll
    for (int i = 0; i < L::kSums; ++i) {
      scores[i] += last[0][i] + last[1][i];
      scores[i] = fmaf(keys[i], by_key[i / 2 % 2], scores[i] * by_value[i / 2 % 2]);
    }
  }

  // Scores become weights, with the top and the sum of each 16 positions; in codes, times their values' scales.
  __device__ __forceinline__ void weigh(const float (&scores)[L::kSums], int32_t number, int32_t first_pos,
                                        const float (&by)[2]) {
    const int g = lane_ / 4;
    const int32_t pos = first_pos + warp_ * 16 + g;
    float* const tops = tops_of(number);
    float low[L::kTiles][2], high[L::kTiles][2];
#pragma unroll
    for (int j = 0; j < L::kTiles; ++j)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        low[j][e] = pos < begin_[j][e] || pos > end_[j][e] ? kNone : scores[j * 4 + e];
        high[j][e] = pos + 8 < begin_[j][e] || pos + 8 > end_[j][e] ? kNone : scores[j * 4 + 2 + e];
        float best = fmaxf(low[j][e], high[j][e]);
        for (int offset = 4; offset < 32; offset *= 2) best = fmaxf(best, __shfl_xor_sync(~0u, best, offset));
        if (g == 0) tops[warp_ * L::kQueries + query_of(j, e)] = best;
      }
    turns_.wait_free(number);
    meet_weights();
    char* const weights = turns_.weights(number) + g * 2;
#pragma unroll
    for (int j = 0; j < L::kTiles; ++j)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int32_t query = query_of(j, e);
        float best = tops[query];
        for (int i = 1; i < 4; ++i) best = fmaxf(best, tops[i * L::kQueries + query]);
        const float shift = best == kNone ? 0.0f : best;
        const float first = __expf(low[j][e] - shift), second = __expf(high[j][e] - shift);
        // [query][64 keys], swizzled.
        char* row = weights + query * 128;
        *reinterpret_cast<__nv_bfloat16*>(row + ((warp_ * 2 ^ query % 8) << 4)) =
            __float2bfloat16_rn(L::kCodes ? first * by[0] : first);
        *reinterpret_cast<__nv_bfloat16*>(row + ((warp_ * 2 + 1 ^ query % 8) << 4)) =
            __float2bfloat16_rn(L::kCodes ? second * by[1] : second);
        float total = first + second;
        for (int offset = 4; offset < 32; offset *= 2) total += __shfl_xor_sync(~0u, total, offset);
        if (g == 0) tops[(4 + warp_) * L::kQueries + query] = total;
      }
    show_copies_to_tensor_cores();
  }

  char* shared_;
  uint32_t base_;
  WeightTurns<L> turns_;
  int thread_ = threadIdx.x % kGroup, warp_ = threadIdx.x / 32 % 4, lane_ = threadIdx.x % 32;
  int32_t begin_[L::kTiles][2], end_[L::kTiles][2];  // keys that the queries see
  Merge merge_;                                      // of query thread_
};

// A warpgroup with half of the output's dims.
template <class L>
class FewOutputs {
 public:
  __device__ __forceinline__ explicit FewOutputs(char* shared) : shared_(shared), turns_(shared) { begin_part(); }

  __device__ __forceinline__ void take_page(const RingOf<L>& ring, int32_t number) {
    const int32_t piece = number * kPiecesOfPage + 1 + group_ * 2;
    float part[L::kDimTiles][L::kSums];
    turns_.wait(number);
    ring.wait_there(piece);
    ring.wait_there(piece + 1);
    warpgroup_fence();
#pragma unroll
    for (int d = 0; d < L::kDimTiles; ++d) {
      multiply(ring.at(piece + d / 2) + d % 2 * kPanelBytes, number, part[d]);
      if (d % 2 == 1) warpgroup_commit();
    }
    float2 factors[L::kTiles][2];
#pragma unroll
    for (int j = 0; j < L::kTiles; ++j)
#pragma unroll
      for (int e = 0; e < 2; ++e) factors[j][e] = turns_.factors(number)[query_of(j, e)];
    warpgroup_wait<1>();
    if (lane_ == 0) ring.free(piece);
    add(part[0], factors, out_[0]);
    add(part[1], factors, out_[1]);
    warpgroup_wait<0>();
    __syncwarp();
    if (lane_ == 0) {
      ring.free(piece + 1);
      turns_.free(number);
    }
    add(part[2], factors, out_[2]);
    add(part[3], factors, out_[3]);
  }

  // From nothing again.
  __device__ __forceinline__ void begin_part() {
#pragma unroll
    for (int d = 0; d < L::kDimTiles; ++d)
#pragma unroll
      for (int i = 0; i < L::kSums; ++i) out_[d][i] = 0;
  }
  // Values [query][dim] so far, for another block (handover.cuh).
  __device__ __forceinline__ void leave_part(const Work& w, float* values, float*) const {
    each_sum(w, values, [&](int d, int i, float* at) { leave(at, out_[d][i]); });
  }
  // Goes on from what another one left so.
  __device__ __forceinline__ void take_part(const Work& w, float* values, float*) {
    Patience patience;
    for (bool there = false; !there;) {
      there = true;
      each_sum(w, values, [&](int d, int i, float* at) {
        out_[d][i] = look_one(at);
        there = there && is_there(out_[d][i]);
      });
      if (!there) patience.rest();
    }
    each_sum(w, values, [&](int, int, float* at) { take_away_one(at); });
    __syncwarp();
  }
  // As an OwnPart has them, where the pages were.
  __device__ __forceinline__ void keep(const Work& w) const {
    meet_outputs();
    auto* values = reinterpret_cast<float*>(shared_ + L::kPiecesAt);
    each_sum<kDim + 4>(w, values, [&](int d, int i, float* at) { *at = out_[d][i]; });
  }

 private:
  // V^T p of 64 dims, on its way.
  __device__ __forceinline__ void multiply(uint32_t panel, int32_t number, float (&part)[L::kSums]) const {
    const uint32_t weights = shared_address(turns_.weights(number));
#pragma unroll
    for (int k = 0; k < kPageTokens / 16; ++k)
      warpgroup_mma_few<1>(part, describe_across(panel + k * 2048, kPanelBytes), describe(weights + k * 32), k > 0);
  }
  __device__ __forceinline__ static void add(const float (&part)[L::kSums], const float2 (&factors)[L::kTiles][2],
                                             float (&out)[L::kSums]) {
#pragma unroll
    for (int i = 0; i < L::kSums; ++i)
      out[i] = fmaf(part[i], factors[i / 4][i % 2].y, out[i] * factors[i / 4][i % 2].x);
  }
  // f(d, i, at) for the sums that the thread has of queries that are there, and where each lies in rows so long.
  template <int kStride = kDim, class F>
  __device__ __forceinline__ void each_sum(const Work& w, float* rows, const F& f) const {
    float* const own = rows + query_of(0, 0) * kStride + group_ * (L::kDimTiles * 64) + warp_ * 16 + lane_ / 4;
#pragma unroll
    for (int i = 0; i < L::kSums; ++i) {
      if (query_of(i / 4, i % 2) >= w.queries) continue;
#pragma unroll
      for (int d = 0; d < L::kDimTiles; ++d) f(d, i, own + (i / 4 * 8 + i % 2) * kStride + d * 64 + i / 2 % 2 * 8);
    }
  }

  char* shared_;
  WeightTurns<L> turns_;
  int group_ = threadIdx.x / kGroup, warp_ = threadIdx.x / 32 % 4, lane_ = threadIdx.x % 32;
  float out_[L::kDimTiles][L::kSums];
};

// Those who bring a block's pages. All of the block come by in front of the first one.
template <class L, class Walk>
__device__ __forceinline__ void bring_few(const RingOf<L>& ring, const Walk& walk, const Work& w, char* shared) {
  give_registers<L::kBringRegisters>();
  const auto thread = static_cast<int32_t>(threadIdx.x) - kUsingThreads;
  if (thread == 0) {
    ring.init(L::kCodes ? L::kBringThreads / 32 : 1, 4);
    WeightTurns<L>(shared).init();
    show_barriers();
  }
  if constexpr (L::kCodes) {
    wait_for_previous();
    __syncthreads();
    const PagesOf pages(w, kCodedPageBytes);
    auto* scales = reinterpret_cast<float*>(shared + L::kScalesAt);
    BroughtPages<RingOf<L>, Walk, L::kBringThreads>{ring, walk, pages, scales, thread}.bring();
  } else {
    if (thread >= 32) return __syncthreads();
    AskedPages<RingOf<L>, Walk>(ring, walk, w).template ask_all<L::kPlaces>(thread);
  }
}

// A block's walk by all but those who merge: `done` is called by the threads that have outputs, with what is kept, if
// anything is.
template <class L, bool kKeeps, class Walk, class Between, class Done>
__device__ __forceinline__ void walk_few(const AttentionArgs& args, const Work& w, const Walk& walk,
                                         const Between& between, char* raw, const Done& done) {
  char* const shared = raw + ((shared_address(raw) + 1023) / 1024 * 1024 - shared_address(raw));
  const RingOf<L> ring(shared, L::kPiecesAt, L::kBarriersAt);
  if (threadIdx.x >= kUsingThreads) return bring_few<L>(ring, walk, w, shared);
  wait_for_previous();
  attention_groups::stage_queries<kDim, L::kQueries, kUsingThreads>(args, w, shared);
  show_copies_to_tensor_cores();
  __syncthreads();
  if (threadIdx.x >= kOutThreads) {
    take_registers<L::kWeightRegisters>();
    FewWeights<L> weights(args, w, shared);
    take_parts(walk, between, weights, [&](int32_t number, int32_t page) { weights.take_page(ring, number, page); });
    if constexpr (kKeeps) {
      weights.keep();
      meet_all();
    }
    return;
  }
  take_registers<L::kOutRegisters>();
  FewOutputs<L> outputs(shared);
  take_parts(walk, between, outputs, [&](int32_t number, int32_t) { outputs.take_page(ring, number); });
  if constexpr (kKeeps) {
    outputs.keep(w);
    meet_all();
    const auto* stats = reinterpret_cast<const float*>(shared + L::kStatsAt);
    done(attention_block::OwnPart{reinterpret_cast<const float*>(shared + L::kPiecesAt), stats,
                                  stats + 4 * L::kQueries, L::kQueries, kDim});
  }
}
#endif

}  // namespace
}  // namespace paceline::kernels::cuda
