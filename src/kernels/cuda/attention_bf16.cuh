// The kernel of attention over pages on the tensor cores: see attention.cu. Its forms are made in several files, for
// they take long to compile.
#pragma once

#include <type_traits>

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/attention_merge.cuh"
#include "kernels/cuda/attention_page.cuh"
#include "kernels/cuda/attention_stage.cuh"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/launch.cuh"

namespace paceline::kernels::cuda::attention_block {
namespace {

// Copies of a page's keys and values into shared memory, asked for and not waited for.
template <int kDim>
struct PageCopies {
  const Work& w;
  const Layout& l;
  uint32_t base;
  int32_t dim;

  __device__ __forceinline__ void keys(int32_t page, bool wanted) const {
    if (wanted) copy_page<kDim>(w.seq->keys_of(page), w.kv_head, dim, base + l.keys, l.row_stride);
    commit_copies();
  }
  __device__ __forceinline__ void values(int32_t page, bool wanted) const {
    if (wanted) copy_page<kDim>(w.seq->values_of(page), w.kv_head, dim, base + l.values, l.row_stride);
    commit_copies();
  }
};

// The pages that a block has: a single one (kSplit), or those of a chunk that its rows see. Behind the blocks of parts
// there are those that only merge, and the first of these has time to write the last page meanwhile. As far as that is
// what blocks of pages do, it is the same code: there is less to fetch.
template <bool kSplit>
struct PagesHere {
  int32_t share, begin, end;
  int32_t part, parts;  // which of the parts this is, of how many that there are

  __device__ __forceinline__ PagesHere(const AttentionArgs& args, const Work& w) {
    part = static_cast<int32_t>(blockIdx.z);
    share = max(part - args.most_parts + 1, 0);
    parts = kSplit ? w.page_end - w.page_begin : w.chunks();
    if constexpr (kSplit) {
      begin = share > 0 ? w.page_end - 1 : w.page_begin + part;
      end = min(begin + 1, w.page_end);
    } else {
      const int32_t chunk = w.first_chunk() + part;
      begin = share > 0 ? w.page_end : max(w.page_begin, chunk * kChunkPages);
      end = min(w.page_end, (chunk + 1) * kChunkPages);
    }
  }
  // Whether there is nothing to do. Of a block that sees nothing the first one says so.
  __device__ __forceinline__ bool none(const AttentionArgs& args, const Work& w, int32_t dim) const {
    if (share > 0) return kSplit ? w.page_begin >= w.page_end : parts <= 1;
    if (begin < end) return false;
    if (part > 0 || w.page_begin < w.page_end) return true;
    wait_for_previous();
    for (int32_t i = static_cast<int32_t>(threadIdx.x) * 4; i < w.queries * dim; i += kThreads * 4)
      write_out(args, w, i / dim, i % dim, make_float4(0, 0, 0, 0));
    return true;
  }
};

// kNt, kDt, kDim: see PageProducts. kSplit: a block has one page, not a chunk. The last part's merges. kHeads: the
// heads are not ready yet.
template <int kNt, int kDt, int kDim, bool kSplit, bool kHeads>
__global__ void __launch_bounds__(kThreads, kNt <= 2 && kDt <= 2 ? 2 : 1)
    attention_bf16(const __grid_constant__ AttentionArgs args) {
  constexpr int kQueries = kNt * 8;
  // As many parts at once as there are registers for.
  using Merging = std::conditional_t<(kDim > 0), MergedTogether<kNt <= 2 && kDt <= 2 ? 9 : 12>, MergedDims>;
  extern __shared__ __align__(16) char shared[];
  let_next_start();
  // Tables and pages below the sequence's first row are older than the kernel in front: those are read while it runs.
  const Work w = find_work(args, static_cast<int32_t>(blockIdx.x));
  const int32_t dim = kDim > 0 ? kDim : args.head_dim;
  const PagesHere<kSplit> pages(args, w);
  if (pages.none(args, w, dim)) return;
  const bool merges_only = pages.share > 0;
  // Where this kernel makes the keys itself, nobody else does.
  const bool makes_keys = kHeads && args.head.k != nullptr, writes = kSplit && makes_keys && pages.share == 1;
  const Layout l = layout_of(dim, kQueries);
  const PageCopies<kDim> copies{w, l, shared_address(shared), dim};
  const bool old = makes_keys || (pages.begin + 1) * kPageTokens <= w.seq->first_pos;
  const auto makes_in = [&](int32_t page) { return makes_keys && (page + 1) * kPageTokens > w.seq->first_pos; };
  const bool makes_these = makes_in(pages.begin);
  if constexpr (kDim == 0) clear_half_tile(shared, l, dim, kQueries);
  constexpr int kPairs = kDim > 256 ? kDim / 64 : 4;
  HeadRow<kPairs> q_weights;
  NewKeys<kPairs> new_keys;
  if (kHeads && !merges_only) q_weights.load(args.head.q_weight, {dim / 2, args.head.turned}, 1.0f);
  if (!old) wait_for_previous();
  copies.keys(pages.begin, pages.begin < pages.end && !merges_only);
  copies.values(pages.begin, pages.begin < pages.end && !merges_only);
  if (old || merges_only) wait_for_previous();
  if (!merges_only || writes) {
    if (makes_these) new_keys.ask_first(args, w, writes ? w.first_pos : w.seq->first_pos, pages.begin, dim);
    if (!merges_only)
      stage_queries<kQueries, kPairs, kHeads>(args, w, dim, q_weights, shared + l.queries, l.row_stride);
    if (makes_these) new_keys.make_all(args, w, dim, shared, l);
  }
  if (merges_only) {
    __syncthreads();
    if (writes) write_page(w, pages.begin, dim, shared, l, static_cast<int32_t>(threadIdx.x), kThreads);
    KeyParts(args, w, kQueries, dim).template merge_share<false, Merging>(pages.share, pages.parts, {});
    return;
  }

  PageProducts<kNt, kDt, kDim> products(args, w, l, shared, dim);
  float out[kDt][kNt][4] = {};
  Merge merge;  // of query threadIdx.x, in the first kQueries threads
  for (int32_t page = pages.begin; page < pages.end; ++page) {
    if constexpr (kHeads && !kSplit)
      if (page > pages.begin && makes_in(page)) {
        new_keys.ask_first(args, w, w.seq->first_pos, page, dim);
        new_keys.make_all(args, w, dim, shared, l);
      }
    wait_copies<1>();
    __syncthreads();
    if (products.scores_here) products.multiply_keys(page);
    // New keys and values go into the page, if nobody else writes it: by the warps without scores, if there are any.
    constexpr int32_t kWriters = kNt == 1 ? kThreads / 2 : kThreads;
    const bool is_written = kSplit && args.merge_shares > 1 && page == w.page_end - 1;
    if (makes_in(page) && !is_written && (kNt > 1 || !products.scores_here))
      write_page(w, page, dim, shared, l, static_cast<int32_t>(threadIdx.x) % kWriters, kWriters);
    __syncthreads();
    // Keys are free: the next page's may come while this one's values are used.
    copies.keys(page + 1, page + 1 < pages.end);
    if (products.scores_here) products.weigh_scores();
    wait_copies<1>();
    __syncthreads();
    if constexpr (kSplit) {
      if (products.dims_here) products.multiply_values(out);
    } else {
      products.take_stats(merge);
      float part[kDt][kNt][4] = {};
      if (products.dims_here) products.multiply_values(part);
      __syncthreads();
      copies.values(page + 1, page + 1 < pages.end);
      products.take_part(part, out);
    }
  }
  if constexpr (!kSplit) {
    wait_copies<0>();
    if (pages.parts <= 1) return products.write_all(args, merge, out);
    products.keep_stats(merge);
  }
  if (!kSplit || kNt == 8) __syncthreads();
  products.keep_part(out);
  __syncthreads();
  const KeyParts parts(args, w, kQueries, dim);
  const bool last = pages.part == pages.parts - 1;
  if (!last || args.merge_shares > 1) parts.leave_part(pages.part, products.own, last);
  if (last) parts.template merge_share<true, Merging>(0, pages.part, products.own);
}

template <int kNt, int kDt, int kDim, bool kSplit, bool kHeads>
void start(const AttentionArgs& args, Stream stream) {
  const auto bytes = static_cast<size_t>(layout_of(args.head_dim, kNt * 8).bytes);
  const dim3 grid(static_cast<unsigned>(args.block_count), static_cast<unsigned>(args.kv_heads),
                  static_cast<unsigned>(args.most_parts + args.merge_shares - 1));
  launch(attention_bf16<kNt, kDt, kDim, kSplit, kHeads>, grid, dim3(kThreads), bytes, stream, true, args);
}

template <int kNt, int kDt, int kDim>
void start(const AttentionArgs& args, Stream stream) {
  if constexpr (kNt * 8 <= kMostQueriesOfChunk && kDim > 0)
    if (!args.parts_are_pages && args.makes_heads) return start<kNt, kDt, kDim, false, true>(args, stream);
  if (!args.parts_are_pages) return start<kNt, kDt, kDim, false, false>(args, stream);
  if constexpr (kNt * 8 <= kMostQueriesMadeReady)
    if (args.makes_heads) return start<kNt, kDt, kDim, true, true>(args, stream);
  start<kNt, kDt, kDim, true, false>(args, stream);
}

}  // namespace
}  // namespace paceline::kernels::cuda::attention_block
