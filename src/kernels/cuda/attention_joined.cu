// Attention over joined pages, on warpgroups: rows of prompts, and steps of more than a few queries.
//
//   q [rows, heads, 512], page [kv_head][panel][64 tokens][64], bf16 -> out [rows, heads, 512]
// Panels 0 to 7 are the values; of the key there are only the dims that are turned, 0 … 63 in panel 8 and 256 … 319 in
// panel 9. The others are the value's times k_weight, which heads() has put into q. Rows of a panel are swizzled as the
// tensor cores take them, so that a page of a KV head is one bulk copy, and serves both products: as [keys][dims] for
// the scores, and the other way round for the outputs. A block has one KV head, 64 queries and two pages by turns.
//
// Three warpgroups. One makes weights. Two have half of the output's dims each, and multiply a page's values while the
// scores of the next one are made. Weights, and what a page does to the sums so far, go where the page's turned keys
// were: nobody reads these again. Whoever is the last to have used a piece of one asks for that of the page after the
// next.
//
// Where pages are codes, those who have used one bring the next but one (coded_pages.cuh), and scores are the sums of
// joined_few.cuh.
//
// Pages merge into chunks and chunks into the output as in attention.cu. A block has a page, a chunk, or, where there
// are many blocks, walks all chunks.
//
// Bound: bytes of pages at few rows, at many what the tensor cores read from shared memory: 216 KB a page.
#include "kernels/cuda/attention_groups.cuh"
#include "kernels/cuda/coded_pages.cuh"
#include "kernels/cuda/joined_merge.cuh"
#include "kernels/cuda/joined_slots.cuh"
#include "kernels/cuda/launch.cuh"

namespace paceline::kernels::cuda {

using namespace attention_groups;
using namespace joined_pages;

namespace {

constexpr int kGroup = 128;  // threads of a warpgroup
constexpr int kOutThreads = 2 * kGroup, kAllThreads = 3 * kGroup;
static_assert(kOutThreads == attention_block::kThreads);
// Registers of a thread that makes weights, and of one that has outputs: all of a block's.
constexpr int kWeightRegisters = 104, kOutRegisters = 200;

constexpr int kQueries = kGroupQueries;
constexpr int kPagesAt = kQueries * kDim * 2;  // behind the queries
constexpr int kBarriersAt = kPagesAt + 2 * kPageBytes;
constexpr int kReadyAt = kBarriersAt + 128;  // two barriers
constexpr int kScalesAt = kReadyAt + 32;
constexpr int kBytes = kScalesAt + 4 * kPageTokens * 4 + 1024;
static_assert(kBytes <= 232448);
// In a page whose scores are there.
constexpr int kWeightsAt = (kJoinedPanels - 2) * kPanelBytes;
constexpr int kFactorsAt = kWeightsAt + kPanelBytes;        // [queries] before, now
constexpr int kTotalFactorsAt = kFactorsAt + kQueries * 8;  // likewise of a chunk that ends
// Where the block ends: its part lies where the pages were, and the stats where the queries were.
static_assert(kQueries * (kDim + 4) * 4 <= 2 * kPageBytes);

#if PACELINE_WARPGROUPS
// The warpgroup that makes weights meets.
__device__ __forceinline__ void meet_weights() { asm volatile("bar.sync 1, 128;" ::: "memory"); }
// Those that have outputs.
__device__ __forceinline__ void meet_outputs() { asm volatile("bar.sync 2, 256;" ::: "memory"); }

// A walk in which the block merges chunks itself, if it does.
struct Totals {
  int32_t end;
  bool merges;

  [[nodiscard]] __device__ __forceinline__ bool ends_chunk(int32_t page) const {
    return merges && ((page + 1) % kChunkPages == 0 || page + 1 == end);
  }
};

// A thread has two queries of eight apart, and of each eight keys two.
template <bool kCodes>
class Weights {
 public:
  __device__ __forceinline__ Weights(const AttentionArgs& args, const Work& w, char* shared)
      : shared_(shared), base_(shared_address(shared)) {
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      const int32_t r = (query_ + q * 8) / w.grouped;
      const bool there = query_ + q * 8 < w.queries;
      begin_[q] = there ? first_key(args, w.first_pos + r) : 1;
      end_[q] = there ? last_key(args, w.first_row + r, w.first_pos + r) : 0;
    }
  }

  // The page of this number in the block's walk, in shared memory; its slots wait for a piece of it. Codes: with scales
  // of values and of keys.
  template <class Slots>
  __device__ __forceinline__ void take_page(const Slots& slots, int32_t number, int32_t page, const Totals& totals) {
    float scores[32], top[2], sum[2];
    const uint32_t place = slots.slot_of(number);
    const float* scales = nullptr;
    if constexpr (kCodes) {
      slots.wait(number);
      scales = slots.scales_of(number);
      multiply_codes(place, scales, scores);
    } else {
      multiply(slots, number, scores);
    }
    weigh(scores, page * kPageTokens, begin_, end_, top, sum);
    // All warps have read the turned keys.
    meet_weights();
    char* here = shared_ + (place - base_);
    store(scores, scales, here + kWeightsAt);
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      if (page % kChunkPages == 0 && totals.merges) merge_[q] = Merge();
      merge_[q].take(top[q], sum[q]);
      if (lane_ % 4 == 0)
        reinterpret_cast<float2*>(here + kFactorsAt)[query_ + q * 8] = make_float2(merge_[q].before, merge_[q].now);
      if (!totals.ends_chunk(page)) continue;
      total_[q].take(merge_[q].top, merge_[q].sum);
      if (lane_ % 4 == 0)
        reinterpret_cast<float2*>(here + kTotalFactorsAt)[query_ + q * 8] =
            make_float2(total_[q].before, total_[q].now);
    }
    show_copies_to_tensor_cores();
  }

  // Behind the last page: of the block's part top and sum of each query, or what its output is multiplied with.
  __device__ __forceinline__ void keep(bool totals) const {
    if (lane_ % 4 > 0) return;
    auto* tops = reinterpret_cast<float*>(shared_);
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      float* own = tops + query_ + q * 8;
      for (int i = 0; i < 4; ++i) {
        own[i * kQueries] = i == 0 ? merge_[q].top : kNone;
        own[(4 + i) * kQueries] = i == 0 ? merge_[q].sum : 0.0f;
      }
      if (totals) *own = total_[q].sum != 0 ? __fdividef(1.0f, total_[q].sum) : 0.0f;
    }
  }

 private:
  // Even steps and odd ones are sums of their own.
  template <class Slots>
  __device__ __forceinline__ void multiply(const Slots& slots, int32_t number, float (&scores)[32]) const {
    float odd[32];
#pragma unroll
    for (int panel = 0; panel < kDim / 64; ++panel) {
      const int from = key_panel(panel);
      if (meets_first<false>(panel)) {
        slots.wait(number, piece_of(from));
        warpgroup_fence();
      }
#pragma unroll
      for (int step = 0; step < 4; ++step)
        warpgroup_mma(step % 2 == 0 ? scores : odd, describe(base_ + panel * kPanel + step * 32),
                      describe(slots.slot_of(number) + from * kPanelBytes + step * 32), panel > 0 || step > 1);
    }
    warpgroup_commit();
    warpgroup_wait<0>();
#pragma unroll
    for (int i = 0; i < 32; ++i) scores[i] += odd[i];
  }

  // As in joined_few.cuh: of what meets values three sums, of 128 dims each, and of what meets keys one.
  __device__ __forceinline__ void multiply_codes(uint32_t page, const float* scales, float (&scores)[32]) const {
    const auto multiply_dims = [&](float(&to)[32], int panel) {
#pragma unroll
      for (int i = 0; i < 8; ++i)
        warpgroup_mma(to, describe(base_ + (panel + i / 4) * kPanel + i % 4 * 32),
                      describe(page + key_panel<true>(panel + i / 4) * kPanelBytes + i % 4 * 32), i > 0);
    };
    float other[32];
    warpgroup_fence();
    multiply_dims(scores, 4);
    multiply_dims(other, 6);
    warpgroup_commit();
    warpgroup_wait<0>();
#pragma unroll
    for (int i = 0; i < 32; ++i) scores[i] += other[i];
    warpgroup_fence();
    multiply_dims(other, 2);
    warpgroup_commit();
    warpgroup_wait<0>();
#pragma unroll
    for (int i = 0; i < 32; ++i) scores[i] = other[i] + scores[i];
    warpgroup_fence();
    multiply_dims(other, 0);
    warpgroup_commit();
    warpgroup_wait<0>();
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      const auto at = n * 8 + lane_ % 4 * 2;
      const float2 by_value = *reinterpret_cast<const float2*>(scales + at);
      const float2 by_key = *reinterpret_cast<const float2*>(scales + kPageTokens + at);
#pragma unroll
      for (int i = n * 4; i < n * 4 + 4; ++i)
        scores[i] =
            fmaf(other[i], i % 2 == 0 ? by_key.x : by_key.y, scores[i] * (i % 2 == 0 ? by_value.x : by_value.y));
    }
  }

  // [query][64 keys], swizzled; in codes, times their values' scales.
  __device__ __forceinline__ void store(const float (&weights)[32], const float* scales, char* to) const {
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      float2 by = make_float2(1.0f, 1.0f);
      if constexpr (kCodes) by = *reinterpret_cast<const float2*>(scales + n * 8 + lane_ % 4 * 2);
#pragma unroll
      for (int q = 0; q < 2; ++q) {
        const float a = weights[n * 4 + q * 2], b = weights[n * 4 + q * 2 + 1];
        *reinterpret_cast<uint32_t*>(to + (query_ + q * 8) * 128 + ((n ^ query_ % 8) << 4) + lane_ % 4 * 4) =
            kCodes ? pack_bf16(a * by.x, b * by.y) : pack_bf16(a, b);
      }
    }
  }

  char* shared_;
  uint32_t base_;
  int lane_ = threadIdx.x % 32;
  int32_t query_ = static_cast<int32_t>(threadIdx.x) / 32 % 4 * 16 + static_cast<int32_t>(threadIdx.x) % 32 / 4;
  int32_t begin_[2], end_[2];  // keys that they see
  Merge merge_[2], total_[2];  // the chunk so far, and the chunks in front
};

// A thread has two queries of eight apart, and of each eight dims of its warpgroup two.
class Outputs {
 public:
  static constexpr int kTiles = kGroupDims / 64;

  __device__ __forceinline__ Outputs(const AttentionArgs& args, char* shared) : shared_(shared) {
    const auto block = static_cast<int64_t>(blockIdx.x) * args.kv_heads + blockIdx.y;
    totals_ = reinterpret_cast<float4*>(args.totals + block * (kQueries * kDim)) + threadIdx.x;
  }

  // done(half): this warp has used that half of its warpgroup's panels.
  template <class Done>
  __device__ __forceinline__ void take_page(uint32_t page, const Done& done) {
    const char* here = shared_ + (page - shared_address(shared_));
    uint4 weights[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      // Rows of 128 bytes, swizzled: of 16 queries and 16 keys four matrices.
      const int32_t row = query_ / 16 * 16 + lane_ % 16;
      ldmatrix4(page + kWeightsAt + row * 128 + ((k * 2 + lane_ / 16 ^ row % 8) << 4), weights[k].x, weights[k].y,
                weights[k].z, weights[k].w);
    }
    const float2 first = factors(here + kFactorsAt, 0), second = factors(here + kFactorsAt, 8);
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      float part[32];
      warpgroup_fence();
#pragma unroll
      for (int k = 0; k < 4; ++k)
        warpgroup_mma_across(part, weights[k],
                             describe_across(page + (first_dim_ / 64 + tile) * kPanelBytes + k * 2048, kPanelBytes),
                             k > 0);
      warpgroup_commit();
      warpgroup_wait<0>();
      if (tile % 2 == 1) done(tile / 2);
#pragma unroll
      for (int i = 0; i < 32; ++i) {
        const float2& f = i / 2 % 2 == 0 ? first : second;
        out_[tile][i] = fmaf(part[i], f.y, out_[tile][i] * f.x);
      }
    }
  }

  // What the chunks in front of this one gave, and it.
  __device__ __forceinline__ void end_chunk(uint32_t page, bool first, bool last) {
    const char* here = shared_ + (page - shared_address(shared_)) + kTotalFactorsAt;
    const float2 low = factors(here, 0), high = factors(here, 8);
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      float was[32];
#pragma unroll
      for (int i = 0; i < 32; i += 4) {
        float4 four = make_float4(0, 0, 0, 0);
        if (!first) four = totals_[(tile * 8 + i / 4) * kOutThreads];
        was[i] = four.x, was[i + 1] = four.y, was[i + 2] = four.z, was[i + 3] = four.w;
      }
      blend(low, high, out_[tile], was);
#pragma unroll
      for (int i = 0; i < 32; i += 4) {
        if (!last) totals_[(tile * 8 + i / 4) * kOutThreads] = make_float4(was[i], was[i + 1], was[i + 2], was[i + 3]);
#pragma unroll
        for (int e = 0; e < 4; ++e) out_[tile][i + e] = last ? was[i + e] : 0.0f;
      }
    }
  }

  // All of the block's, where the pages were.
  __device__ __forceinline__ float* keep(const Work& w) const {
    meet_outputs();
    auto* values = reinterpret_cast<float*>(shared_ + kPagesAt);
    each_pair<kDim + 4>(w, values, [&](int tile, int i, float* at) {
      *reinterpret_cast<float2*>(at) = make_float2(out_[tile][i], out_[tile][i + 1]);
    });
    return values;
  }

 private:
  // f(tile, i, at) for pairs of neighbours that the thread has of queries that are there, and where each lies in rows
  // so long.
  template <int kStride = kDim, class F>
  __device__ __forceinline__ void each_pair(const Work& w, float* rows, const F& f) const {
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      if (query_ + q * 8 >= w.queries) continue;
      float* const own = rows + (query_ + q * 8) * kStride + first_dim_ + lane_ % 4 * 2;
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile)
#pragma unroll
        for (int n = 0; n < 8; ++n) f(tile, n * 4 + q * 2, own + tile * 64 + n * 8);
    }
  }
  // Before and now, of the first query or the second one.
  [[nodiscard]] __device__ __forceinline__ float2 factors(const char* from, int32_t behind) const {
    return reinterpret_cast<const float2*>(from)[query_ + behind];
  }
  // was = was * before + is * now
  __device__ __forceinline__ static void blend(const float2& first, const float2& second, const float (&is)[32],
                                               float (&was)[32]) {
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      const float2& f = i / 2 % 2 == 0 ? first : second;
      was[i] = fmaf(is[i], f.y, was[i] * f.x);
    }
  }

  char* shared_;
  int lane_ = threadIdx.x % 32;
  int32_t query_ = static_cast<int32_t>(threadIdx.x) / 32 % 4 * 16 + static_cast<int32_t>(threadIdx.x) % 32 / 4;
  int32_t first_dim_ = static_cast<int32_t>(threadIdx.x) / kGroup * kGroupDims;
  float4* totals_;  // [32][kOutThreads] of the block: only this thread reads its own again
  float out_[kTiles][32] = {};
};

// The block's outputs, which lie where keep() has put them, times what `inverse` says.
__device__ __forceinline__ void write_all(const AttentionArgs& args, const Work& w, const float* values,
                                          const float* inverse) {
  for (int32_t i = static_cast<int32_t>(threadIdx.x) * 4; i < w.queries * kDim; i += kOutThreads * 4) {
    const int32_t query = i / kDim, at = i % kDim;
    const float4 v = *reinterpret_cast<const float4*>(values + query * (kDim + 4) + at);
    const float by = inverse[query];
    attention_block::write_out(args, w, query, at, make_float4(v.x * by, v.y * by, v.z * by, v.w * by));
  }
}

template <bool kCodes, class Slots>
__device__ __forceinline__ void make_weights(const AttentionArgs& args, const Work& w, const InTurn& walk,
                                             const Totals& totals, char* shared, const Slots& slots) {
  Weights<kCodes> weights(args, w, shared);
  take_parts(walk, NothingBetween(), weights, [&](int32_t number, int32_t page) {
    weights.take_page(slots, number, page, totals);
    arrive(shared_address(shared) + kReadyAt + number % 2 * 8);
  });
  // All warps are behind their last product: the queries are not read any more.
  meet_weights();
  weights.keep(totals.merges);
}

// A page of codes where those who call this have used another: each warpgroup the values that it multiplies, and then,
// once both are done, half of the keys.
__device__ __forceinline__ void bring_page(const CodedSlots& slots, int32_t number) {
  if (number >= slots.walk.pages()) return;
  if (threadIdx.x == 0) slots.fetch(number + CodedSlots::kAhead - 2);
  const int32_t group = static_cast<int32_t>(threadIdx.x) / kGroup, thread = static_cast<int32_t>(threadIdx.x) % kGroup;
  const int32_t values = group * (kDim / 128) * kSixteensOfPanel + thread;
  const int32_t keys = (kJoinedPanels - 2 + group) * kSixteensOfPanel + thread;
  const char* from = slots.find(number);
  constexpr int kValueLoads = kDim / 128 * kSixteensOfPanel / kGroup, kKeyLoads = kSixteensOfPanel / kGroup;
  uint4 codes[kValueLoads + kKeyLoads];
#pragma unroll
  for (int i = 0; i < kValueLoads + kKeyLoads; ++i) {
    const int32_t number = i < kValueLoads ? values + i * kGroup : keys + (i - kValueLoads) * kGroup;
    codes[i] = *reinterpret_cast<const uint4*>(from + number * 16);
  }
  const float scale = *reinterpret_cast<const float*>(from + kCodeBytes + thread * 4);
#pragma unroll
  for (int i = 0; i < kValueLoads; ++i) put_sixteen(slots.slot_of(number), values + i * kGroup, codes[i]);
  meet_outputs();
#pragma unroll
  for (int i = 0; i < kKeyLoads; ++i) put_sixteen(slots.slot_of(number), keys + i * kGroup, codes[kValueLoads + i]);
  if (group == 0) slots.scales_of(number)[thread] = scale;
  slots.show(number);
}

template <bool kCodes, class Slots>
__device__ __forceinline__ float* make_outputs(const AttentionArgs& args, const Work& w, const InTurn& walk,
                                               const Totals& totals, char* shared, const Slots& slots) {
  Outputs outputs(args, shared);
  const int32_t group = static_cast<int32_t>(threadIdx.x) / kGroup;
  if constexpr (kCodes) {
    if (threadIdx.x == 0)
      for (int32_t number = 0; number < CodedSlots::kAhead; ++number) slots.fetch(number);
    bring_page(slots, 0);
    bring_page(slots, 1);
  }
  int32_t chunks = 0;
  take_parts(walk, NothingBetween(), outputs, [&](int32_t number, int32_t page) {
    const char* next = nullptr;
    if constexpr (!kCodes) next = slots.find(number + 2);
    wait_barrier(shared_address(shared) + kReadyAt + number % 2 * 8, static_cast<uint32_t>(number / 2 % 2));
    outputs.take_page(slots.slot_of(number), [&](int half) {
      if constexpr (!kCodes) slots.finish(number, 1 + group * 2 + half, kGroup / 32, next);
    });
    if (totals.ends_chunk(page)) outputs.end_chunk(slots.slot_of(number), chunks++ == 0, page + 1 == totals.end);
    // Weights and factors lie where keys do.
    if constexpr (kCodes)
      bring_page(slots, number + 2);
    else
      slots.finish(number, 0, kOutThreads / 32, next);
  });
  return outputs.keep(w);
}

template <bool kCodes>
__device__ __forceinline__ auto slots_of(char* shared, const Work& w, const InTurn& walk) {
  if (threadIdx.x == 0) {
    init_barrier(shared_address(shared) + kReadyAt, kGroup);
    init_barrier(shared_address(shared) + kReadyAt + 8, kGroup);
  }
  if constexpr (kCodes)
    return CodedSlots(shared, kPagesAt, kBarriersAt, kScalesAt, kOutThreads, w, walk);
  else
    return PageSlots(shared, kPagesAt, kBarriersAt, w, walk);
}

// A block's walk by all but those who merge. done(values, stats) is called by the threads that have outputs.
template <bool kCodes, class Done>
__device__ __forceinline__ void walk_joined(const AttentionArgs& args, const Work& w, const InTurn& walk,
                                            const Totals& totals, char* raw, const Done& done) {
  char* const shared = raw + ((shared_address(raw) + 1023) / 1024 * 1024 - shared_address(raw));
  const auto slots = slots_of<kCodes>(shared, w, walk);
  if constexpr (kCodes)
    wait_for_previous();
  else
    slots.ask_first();
  stage_queries<kDim, kQueries, kAllThreads>(args, w, shared);
  show_copies_to_tensor_cores();
  __syncthreads();
  if (threadIdx.x >= kOutThreads) {
    give_registers<kWeightRegisters>();
    make_weights<kCodes>(args, w, walk, totals, shared, slots);
    __syncthreads();
    return;
  }
  take_registers<kOutRegisters>();
  float* values = make_outputs<kCodes>(args, w, walk, totals, shared, slots);
  __syncthreads();
  done(values, reinterpret_cast<float*>(shared));
}
#endif

template <bool kCodes>
__global__ void __launch_bounds__(kAllThreads, 1) attention_joined_kernel(const __grid_constant__ AttentionArgs args) {
#if PACELINE_WARPGROUPS
  extern __shared__ char raw[];
  let_next_start();
  const Work w = find_work(args, static_cast<int32_t>(gridDim.x - 1 - blockIdx.x));
  const PartHere here(args, w);
  const attention_block::KeyParts parts(args, w, args.part_queries, kDim);
  const bool writes_one = !args.parts_are_pages && !args.merges_apart;
  const JoinedMerge merge{args, w, here, parts, writes_one ? 1 : 0};
  if (merge.is_all()) return merge.merge_others();
  const Totals totals{here.end, writes_one && here.parts <= 1};
  walk_joined<kCodes>(args, w, {here.begin, here.end}, totals, raw, [&](const float* values, const float* stats) {
    if (totals.merges) return write_all(args, w, values, stats);
    merge.leave_or_merge({values, stats, stats + 4 * kQueries, kQueries, kDim});
  });
#endif
}

}  // namespace

bool can_attend_joined(int32_t heads, int32_t kv_heads) { return has_warpgroups() && heads / kv_heads <= kQueries; }

void attention_joined(const AttentionArgs& args, Stream stream) {
  const auto start = [&](auto* kernel) {
    launch(kernel, joined_grid(args), dim3(kAllThreads), kBytes, stream, true, args);
  };
  if (args.codes)
    start(attention_joined_kernel<true>);
  else
    start(attention_joined_kernel<false>);
}

}  // namespace paceline::kernels::cuda
