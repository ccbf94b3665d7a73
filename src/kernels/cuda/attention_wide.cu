// Attention of many rows, on warpgroups. The same pages, chunks, order and operations as attention.cu, and so the same
// bits. A block walks all chunks that its rows see; what it has merged of those in front waits in memory, since there
// are no registers for it.
//
//   q [rows, heads, dim], keys [kv_head][64][dim], values likewise, bf16 -> out [rows, heads, dim]
// A block has one KV head and two warpgroups. Heads of 256 dims: each warpgroup has 64 queries of its own. Heads of 512
// dims: both have the same 64 queries, compute all scores, and have half of the output's dims each: registers for more
// there are not. Queries are the first operand (scores: from shared memory; weights: from registers), pages the second.
//
// Bound: operations, behind it the bytes of pages that L2 gives. A prompt of 2048 of 12B takes 0.2 ms a layer on an
// H200, about 160 TFLOP/s.
#include "kernels/cuda/attention_groups.cuh"
#include "kernels/cuda/launch.cuh"

namespace paceline::kernels::cuda {

using namespace attention_groups;

namespace {

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
template <int kDim>
__device__ __forceinline__ void copy_rows(const void* page, int32_t kv_head, uint32_t to) {
  constexpr int kChunks = kDim / 8;
  const char* from = static_cast<const char*>(page) + static_cast<int64_t>(kv_head) * Shape<kDim>::kPageBytes;
#pragma unroll 8
  for (int32_t i = threadIdx.x; i < kPageTokens * kChunks; i += kThreads)
    copy16_async(to + place_of(i / kChunks, i % kChunks), from + i * 16, true);
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

// out = out * before + (weights x values) * now, 128 dims at a time.
__device__ __forceinline__ void add_values(float (&out)[2][64], const uint4 (&weights)[4], uint32_t values,
                                           const Merge (&merge)[2]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float part[64];
    warpgroup_fence();
#pragma unroll
    for (int k = 0; k < 4; ++k)
      warpgroup_mma_across(part, weights[k], describe_across(values + half * 2 * kPanel + k * 2048, kPanel), k > 0);
    warpgroup_commit();
    warpgroup_wait<0>();
#pragma unroll
    for (int i = 0; i < 64; ++i) {
      const Merge& m = merge[i / 2 % 2];
      out[half][i] = fmaf(part[i], m.now, out[half][i] * m.before);
    }
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
    if (page < w.page_end) copy_rows<kDim>(w.seq->keys_of(page), w.kv_head, keys + slot * S::kPageBytes);
    commit_copies();
  };
  const auto take_values = [&](int32_t page, int slot) {
    if (page < w.page_end) copy_rows<kDim>(w.seq->values_of(page), w.kv_head, values + slot * S::kPageBytes);
    commit_copies();
  };
  take_keys(w.page_begin, 0);
  take_values(w.page_begin, 0);
  stage_queries<kDim, S::kQueries>(args, w, raw + skip);

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
  total.place(args, S::kQueries * kDim);
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
    add_values(out, weights, values + slot * S::kPageBytes + first_dim / 64 * kPanel, merge);
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
