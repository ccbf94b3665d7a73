// Attention over joined pages, on warpgroups: rows of prompts and of steps alike.
//
//   q [rows, heads, 512], page [kv_head][panel][64 tokens][64], bf16 -> out [rows, heads, 512]
// Panels 0 to 7 are the values; of the key there are only the dims that are turned, 0 … 63 in panel 8 and 256 … 319 in
// panel 9. The others are the value's times k_weight, which heads() has put into q. Rows of a panel are swizzled as the
// tensor cores take them, so that a page of a KV head is one bulk copy, and serves both products: as [keys][dims] for
// the scores, and the other way round for the outputs. A block has one KV head, 64 queries, two pages on their way, and
// two warpgroups that meet only where the block ends: both compute all scores and have half of the output's dims each.
// Whoever is the last to have used a page asks for the next but one.
//
// Pages merge into chunks and chunks into the output as in attention.cu. A block has a page, a chunk, or, where there
// are many blocks, walks all chunks.
//
// Bound: bytes of pages at few rows, operations at many.
#include "kernels/cuda/attention_groups.cuh"
#include "kernels/cuda/joined_pages.cuh"
#include "kernels/cuda/launch.cuh"

namespace paceline::kernels::cuda {

using namespace attention_groups;
using namespace joined_pages;

namespace {

constexpr int kQueries = kGroupQueries;
constexpr int kPagesAt = kQueries * kDim * 2;  // behind the queries
constexpr int kBarriersAt = kPagesAt + 2 * kPageBytes;
constexpr int kBytes = kBarriersAt + 32 + 1024;
static_assert(kBytes <= 232448);
// Where the block ends: its part lies where the pages were, and the stats where the queries were.
static_assert(kQueries * (kDim + 4) * 4 <= 2 * kPageBytes);

#if PACELINE_WARPGROUPS
// Scores of 64 queries and a page, as in attention_wide.cu.
__device__ __forceinline__ void score(float (&scores)[32], uint32_t queries, uint32_t page) {
  float odd[32];
  warpgroup_fence();
#pragma unroll
  for (int step = 0; step < kDim / 16; ++step) {
    const int panel = step / 4;
    const uint64_t a = describe(queries + panel * kPanel + step % 4 * 32);
    const uint64_t b = describe(page + key_panel(panel) * kPanel + step % 4 * 32);
    if (step % 2 == 0)
      warpgroup_mma(scores, a, b, step > 0);
    else
      warpgroup_mma(odd, a, b, step > 1);
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

// What a thread has: two queries, and of the output some of its warpgroup's dims.
struct Own {
  int32_t query, first_dim;  // and query + 8
  int32_t begin[2], end[2];  // keys that they see
  float out[2][64];
  Merge merge[2];

  __device__ __forceinline__ Own(const AttentionArgs& args, const Work& w) {
    const int warp = threadIdx.x / 32 % 4, g = threadIdx.x % 32 / 4;
    query = warp * 16 + g;
    first_dim = static_cast<int32_t>(threadIdx.x) / 128 * kGroupDims;
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      const int32_t r = (query + q * 8) / w.grouped;
      const bool there = query + q * 8 < w.queries;
      begin[q] = there ? first_key(args, w.first_pos + r) : 1;
      end[q] = there ? last_key(args, w.first_row + r, w.first_pos + r) : 0;
    }
    clear();
  }
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < 64; ++i) out[0][i] = out[1][i] = 0;
    merge[0] = merge[1] = Merge();
  }
  __device__ __forceinline__ void take_page(uint32_t queries, uint32_t place, int32_t page) {
    float scores[32], top[2], total[2];
    score(scores, queries, place);
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
    add_values(out, weights, place + first_dim / 64 * kPanel, merge);
  }
  __device__ __forceinline__ void write(const AttentionArgs& args, const Work& w, const Merge (&all)[2]) const {
#pragma unroll
    for (int q = 0; q < 2; ++q)
      write_query<kDim>(args, w, query + q * 8, first_dim + threadIdx.x % 4 * 2, out, q,
                        all[q].sum != 0 ? __fdividef(1.0f, all[q].sum) : 0.0f);
  }
  // The block's part, for whoever merges it.
  __device__ __forceinline__ void keep(const Work& w, float* values, float* tops, float* sums) const {
    const int t = threadIdx.x % 4;
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      const int32_t at = query + q * 8;
      if (at >= w.queries) continue;
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int n = 0; n < 16; ++n)
          *reinterpret_cast<float2*>(values + at * (kDim + 4) + first_dim + half * 128 + n * 8 + t * 2) =
              make_float2(out[half][n * 4 + q * 2], out[half][n * 4 + q * 2 + 1]);
      if (first_dim > 0 || t > 0) continue;
      for (int i = 0; i < 4; ++i) {
        tops[i * kQueries + at] = i == 0 ? merge[q].top : kNone;
        sums[i * kQueries + at] = i == 0 ? merge[q].sum : 0.0f;
      }
    }
  }
};

#endif

__global__ void __launch_bounds__(kThreads, 1) attention_joined_kernel(const __grid_constant__ AttentionArgs args) {
#if PACELINE_WARPGROUPS
  using Merging = attention_block::MergedTogether<12>;
  extern __shared__ char raw[];
  let_next_start();
  const Work w = find_work(args, static_cast<int32_t>(gridDim.x - 1 - blockIdx.x));
  const PartHere here(args, w);
  const attention_block::KeyParts parts(args, w, args.part_queries, kDim);
  if (here.share > 0) {
    wait_for_previous();
    if (here.parts > (args.parts_are_pages ? 0 : 1))
      parts.template merge_share<false, Merging>(here.share, here.parts, {});
    return;
  }
  if (here.part >= max(here.parts, 1)) return;
  if (here.parts == 0) return write_nothing(args, w);
  char* const shared = raw + ((shared_address(raw) + 1023) / 1024 * 1024 - shared_address(raw));
  const uint32_t queries = shared_address(shared);
  const PageSlots slots(shared, kPagesAt, kBarriersAt, w, here);
  slots.ask_first();
  stage_queries<kDim, kQueries>(args, w, shared);
  show_copies_to_tensor_cores();
  __syncthreads();

  Own own(args, w);
  Total total;
  total.place(args, kQueries * kDim);
  for (int32_t page = here.begin; page < here.end; ++page) {
    if (page % kChunkPages == 0 && page > here.begin) {
      total.take(own.out, own.merge, page - here.begin <= kChunkPages, false);
      own.clear();
    }
    const char* next = slots.find(page + 2);
    own.take_page(queries, slots.wait(page), page);
    slots.finish(page, next);
  }
  if (here.parts <= 1 && !args.parts_are_pages) {
    total.take(own.out, own.merge, args.most_parts > 1 || w.chunks() <= 1, true);
    return own.write(args, w, total.merge);
  }
  __syncthreads();
  auto* values = reinterpret_cast<float*>(shared + kPagesAt);
  auto* tops = reinterpret_cast<float*>(shared);
  float* sums = tops + 4 * kQueries;
  own.keep(w, values, tops, sums);
  __syncthreads();
  const attention_block::OwnPart kept{values, tops, sums, kQueries, kDim};
  const bool last = here.part == here.parts - 1;
  if (!last || args.merge_shares > 1) parts.leave_part(here.part, kept, last);
  if (last) parts.template merge_share<true, Merging>(0, here.part, kept);
#endif
}

}  // namespace

bool can_attend_joined(int32_t heads, int32_t kv_heads) { return has_warpgroups() && heads / kv_heads <= kQueries; }

void attention_joined(const AttentionArgs& args, Stream stream) {
  const dim3 grid(static_cast<unsigned>(args.block_count), static_cast<unsigned>(args.kv_heads),
                  static_cast<unsigned>(args.most_parts + args.merge_shares - 1));
  launch(attention_joined_kernel, grid, dim3(kThreads), kBytes, stream, true, args);
}

}  // namespace paceline::kernels::cuda
