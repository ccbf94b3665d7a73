// Attention of many rows, on warpgroups. The same pages, chunks, order and operations as attention.cu, and so the same
// bits. A block walks all chunks that its rows see; what it has merged of those in front waits in memory, since there
// are no registers for it.
//
//   q [rows, heads, dim], keys [kv_head][64][dim], values [kv_head][dim][64], bf16 -> out [rows, heads, dim]
// A block has one KV head and two warpgroups. Heads of 256 dims: each warpgroup has 64 queries of its own. Heads of 512
// dims: both have the same 64 queries, compute all scores, and have half of the output's dims each: registers for more
// there are not. Queries are the first operand (scores: from shared memory; weights: from registers), pages the second.
//
// Bound: operations, behind it the bytes of pages that L2 gives. A prompt of 2048 of 12B takes 0.2 ms a layer on an
// H200, about 160 TFLOP/s.
#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/warpgroup.cuh"

namespace paceline::kernels::cuda {
namespace {

constexpr int kThreads = 256;
template <int kDim>
struct Shape {
  static constexpr int kQueries = wide_queries(kDim);
  static constexpr int kPageBytes = kPageTokens * kDim * 2;  // of keys, or values
  static constexpr int kSlots = kDim == 256 ? 2 : 1;         // pages that are here at once
  static constexpr int kKeys = kQueries * kDim * 2;          // behind the queries
  static constexpr int kValues = kKeys + kSlots * kPageBytes;
  static constexpr int kBytes = kValues + kSlots * kPageBytes + 1024;
  static_assert(kBytes <= 232448);
};

#if PACELINE_WARPGROUPS
constexpr int kGroupQueries = 64, kGroupDims = 256;
constexpr int kPanel = kPageTokens * 128;  // bytes of 64 rows of 64 elements

// Chunk `chunk` (16 bytes) of row `row`, in panels of 64 columns swizzled as the tensor cores take them.
__device__ __forceinline__ uint32_t place_of(int32_t row, int32_t chunk) {
  return chunk / 8 * kPanel + row * 128 + ((chunk % 8 ^ row % 8) << 4);
}

template <int kDim>
__device__ __forceinline__ void copy_keys(const void* page, int32_t kv_head, uint32_t to) {
  constexpr int kChunks = kDim / 8;
  const char* from = static_cast<const char*>(page) + static_cast<int64_t>(kv_head) * Shape<kDim>::kPageBytes;
#pragma unroll 8
  for (int32_t i = threadIdx.x; i < kPageTokens * kChunks; i += kThreads)
    copy16_async(to + place_of(i / kChunks, i % kChunks), from + i * 16, true);
}
template <int kDim>
__device__ __forceinline__ void copy_values(const void* page, int32_t kv_head, uint32_t to) {
  const char* from = static_cast<const char*>(page) + static_cast<int64_t>(kv_head) * Shape<kDim>::kPageBytes;
#pragma unroll 8
  for (int32_t i = threadIdx.x; i < kDim * 8; i += kThreads)
    copy16_async(to + i / 8 * 128 + ((i % 8 ^ i / 8 % 8) << 4), from + i * 16, true);
}

template <int kDim>
__device__ __forceinline__ void stage_queries(const AttentionArgs& args, const Work& w, char* to) {
  constexpr int kChunks = kDim / 8;
#pragma unroll 4
  for (int32_t i = threadIdx.x; i < Shape<kDim>::kQueries * kChunks; i += kThreads) {
    const int32_t query = i / kChunks, chunk = i % kChunks;
    uint4 eight = make_uint4(0, 0, 0, 0);
    if (query < w.queries) {
      const int64_t row = w.first_row + query / w.grouped, head = w.kv_head * w.grouped + query % w.grouped;
      const auto* from = reinterpret_cast<const float4*>(args.q + (row * args.heads + head) * kDim + chunk * 8);
      const float4 a = from[0], b = from[1];
      eight = make_uint4(pack_bf16(a.x, a.y), pack_bf16(a.z, a.w), pack_bf16(b.x, b.y), pack_bf16(b.z, b.w));
    }
    *reinterpret_cast<uint4*>(to + query / kGroupQueries * (kGroupQueries * kDim * 2) +
                              place_of(query % kGroupQueries, chunk)) = eight;
  }
}

// Scores of 64 queries and a page: [tile of 8 keys][query g: keys 2t, 2t + 1; query g + 8: the same]
template <int kDim>
__device__ __forceinline__ void score(float (&scores)[32], uint32_t queries, uint32_t keys) {
  // Even and odd steps in sums of their own, as in attention.cu.
  float odd[32];
  warpgroup_fence();
#pragma unroll
  for (int step = 0; step < kDim / 16; ++step) {
    const uint32_t offset = step / 4 * kPanel + step % 4 * 32;
    if (step % 2 == 0)
      warpgroup_mma(scores, describe(queries + offset), describe(keys + offset), step > 0);
    else
      warpgroup_mma(odd, describe(queries + offset), describe(keys + offset), step > 1);
  }
  warpgroup_commit();
  warpgroup_wait<0>();
#pragma unroll
  for (int i = 0; i < 32; ++i) scores[i] += odd[i];
}

// Scores become weights; gives each query's top score and the sum of its weights in attention.cu's order: over 16 keys
// as a tree, these ascending.
__device__ __forceinline__ void weigh(float (&scores)[32], int32_t first_pos, const int32_t (&begin)[2],
                                      const int32_t (&end)[2], float (&top)[2], float (&total)[2]) {
  const int t = threadIdx.x % 4;
#pragma unroll
  for (int q = 0; q < 2; ++q) {
    top[q] = kNone;
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& s = scores[n * 4 + q * 2 + e];
        const int32_t pos = first_pos + n * 8 + t * 2 + e;
        if (pos < begin[q] || pos > end[q]) s = kNone;
        top[q] = fmaxf(top[q], s);
      }
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

// out = out * before + (weights x values) * now, 128 dims at a time.
__device__ __forceinline__ void add_values(float (&out)[2][64], const uint4 (&weights)[4], uint32_t values,
                                           const Merge (&merge)[2]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float part[64];
    warpgroup_fence();
#pragma unroll
    for (int k = 0; k < 4; ++k) warpgroup_mma(part, weights[k], describe(values + half * 128 * 128 + k * 32), k > 0);
    warpgroup_commit();
    warpgroup_wait<0>();
#pragma unroll
    for (int i = 0; i < 64; ++i) {
      const Merge& m = merge[i / 2 % 2];
      out[half][i] = fmaf(part[i], m.now, out[half][i] * m.before);
    }
  }
}

// What a block has merged of the chunks in front: of each query top and sum, and in memory, where only this thread
// reads them again, its values.
struct Total {
  float4* values;  // [32][kThreads]
  Merge merge[2];

  template <int kDim>
  __device__ __forceinline__ void place(const AttentionArgs& args) {
    const auto block = static_cast<int64_t>(blockIdx.x) * args.kv_heads + blockIdx.y;
    values = reinterpret_cast<float4*>(args.totals + block * Shape<kDim>::kQueries * kDim) + threadIdx.x;
  }
  // The chunk, which is `out`, with those in front; it stays in `out` where it is the last.
  __device__ __forceinline__ void take(float (&out)[2][64], const Merge (&chunk)[2], bool first, bool last) {
    merge[0].take(chunk[0].top, chunk[0].sum);
    merge[1].take(chunk[1].top, chunk[1].sum);
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll 8
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

template <int kDim>
__global__ void __launch_bounds__(kThreads, 1) attention_warpgroups(const AttentionArgs args) {
#if PACELINE_WARPGROUPS
  using S = Shape<kDim>;
  extern __shared__ char raw[];
  const uint32_t skip = (shared_address(raw) + 1023) / 1024 * 1024 - shared_address(raw);
  const uint32_t queries = shared_address(raw) + skip, keys = queries + S::kKeys, values = queries + S::kValues;
  let_next_start();
  wait_for_previous();
  // The last rows see the most: they begin.
  const Work w = find_work(args, static_cast<int32_t>(gridDim.x - 1 - blockIdx.x));
  const int group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const auto take_keys = [&](int32_t page, int slot) {
    if (page < w.page_end) copy_keys<kDim>(w.seq->keys_of(page), w.kv_head, keys + slot * S::kPageBytes);
    commit_copies();
  };
  const auto take_values = [&](int32_t page, int slot) {
    if (page < w.page_end) copy_values<kDim>(w.seq->values_of(page), w.kv_head, values + slot * S::kPageBytes);
    commit_copies();
  };
  take_keys(w.page_begin, 0);
  take_values(w.page_begin, 0);
  stage_queries<kDim>(args, w, raw + skip);

  const int own_group = kDim == 256 ? group : 0;  // of queries
  const int32_t first_dim = kDim == 256 ? 0 : group * kGroupDims;
  const uint32_t own_queries = queries + own_group * (kGroupQueries * kDim * 2);
  const int32_t query = own_group * kGroupQueries + warp * 16 + g;  // and query + 8
  int32_t begin[2], end[2];
#pragma unroll
  for (int q = 0; q < 2; ++q) {
    const int32_t r = (query + q * 8) / w.grouped;
    const bool there = query + q * 8 < w.queries;
    begin[q] = there ? first_key(args, w.first_pos + r) : 1;
    end[q] = there ? last_key(args, w.first_row + r, w.first_pos + r) : 0;
  }
  float out[2][64] = {};
  Merge merge[2];
  Total total;
  total.place<kDim>(args);
  for (int32_t page = w.page_begin; page < w.page_end; ++page) {
    if (page % kChunkPages == 0 && page > w.page_begin) {
      total.take(out, merge, page - w.page_begin <= kChunkPages, false);
#pragma unroll
      for (int i = 0; i < 64; ++i) out[0][i] = out[1][i] = 0;
      merge[0] = merge[1] = Merge();
    }
    const int slot = S::kSlots == 1 ? 0 : (page - w.page_begin) % 2;
    if constexpr (S::kSlots == 1)
      wait_copies<1>();
    else
      wait_copies<0>();
    show_copies_to_tensor_cores();
    __syncthreads();
    if constexpr (S::kSlots == 2) {
      take_keys(page + 1, 1 - slot);
      take_values(page + 1, 1 - slot);
    }
    float scores[32];
    score<kDim>(scores, own_queries, keys + slot * S::kPageBytes);
    if constexpr (S::kSlots == 1) {
      __syncthreads();
      take_keys(page + 1, 0);
    }
    float top[2], total[2];
    weigh(scores, page * kPageTokens, begin, end, top, total);
    uint4 weights[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float* s = scores + k * 8;
      weights[k] =
          make_uint4(pack_bf16(s[0], s[1]), pack_bf16(s[2], s[3]), pack_bf16(s[4], s[5]), pack_bf16(s[6], s[7]));
    }
    merge[0].take(top[0], total[0]);
    merge[1].take(top[1], total[1]);
    if constexpr (S::kSlots == 1) {
      wait_copies<1>();
      show_copies_to_tensor_cores();
      __syncthreads();
    }
    add_values(out, weights, values + slot * S::kPageBytes + first_dim * 128, merge);
    if constexpr (S::kSlots == 1) {
      __syncthreads();
      take_values(page + 1, 0);
    }
  }
  wait_copies<0>();
  total.take(out, merge, w.chunks() <= 1, true);
#pragma unroll
  for (int q = 0; q < 2; ++q) {
    const float sum = total.merge[q].sum;
    write_query<kDim>(args, w, query + q * 8, first_dim + t * 2, out, q, sum != 0 ? __fdividef(1.0f, sum) : 0.0f);
  }
#endif
}

template <int kDim>
void start(const AttentionArgs& args, Stream stream) {
  launch(attention_warpgroups<kDim>,
         dim3(static_cast<unsigned>(args.block_count), static_cast<unsigned>(args.kv_heads)), dim3(kThreads),
         Shape<kDim>::kBytes, stream, true, args);
}

}  // namespace

bool can_attend_wide(int32_t heads, int32_t kv_heads, int32_t head_dim) {
  return has_warpgroups() && (head_dim == 256 || head_dim == 512) && heads / kv_heads <= wide_queries(head_dim);
}

void attention_wide(const AttentionArgs& args, Stream stream) {
  if (args.head_dim == 256)
    start<256>(args, stream);
  else
    start<512>(args, stream);
}

}  // namespace paceline::kernels::cuda
