// Walks over joined pages where chunks are more than a device has places: each block walks as many pages as every
// other, and chunks are cut where it begins and ends. The piece of a chunk that it ends with it does first, and leaves
// what that gives, so that the next block, which does the rest of that chunk last, goes on from there and waits for
// nobody. A chunk's pages are merged in ascending order from nothing all the same. The first page begins a chunk.
#pragma once

#include "kernels/cuda/attention_merge.cuh"
#include "kernels/cuda/joined_pages.cuh"

namespace paceline::kernels::cuda::joined_pages {

#if PACELINE_WARPGROUPS
// The pages of a block, kChunkPages at least, in the order in which it walks them.
struct CutWalk {
  int32_t rest, first, last, end;  // pages: [rest, first) of the block's before, whole chunks, [last, end) handed on

  __device__ __forceinline__ CutWalk(const Work& w, int32_t number, int32_t walks) {
    const int32_t pages = w.page_end - w.page_begin;
    rest = w.page_begin + pages * number / walks;
    end = w.page_begin + pages * (number + 1) / walks;
    first = number == 0 ? rest : round_up(rest, kChunkPages);
    last = number == walks - 1 ? end : end / kChunkPages * kChunkPages;
  }
  [[nodiscard]] __device__ __forceinline__ int32_t pages() const { return end - rest; }
  // The page that comes so manieth.
  [[nodiscard]] __device__ __forceinline__ int32_t page(int32_t number) const {
    const int32_t whole = number - (end - last);
    if (whole < 0) return last + number;
    return whole < last - first ? first + whole : rest + whole - (last - first);
  }
};

// Where blocks leave parts of chunks, and what they hand on. A `role` of a block leaves its share of what it has of a
// part, takes what another one left, and begins from nothing again.
struct HandedOn {
  const AttentionArgs& args;
  const Work& w;
  const attention_block::KeyParts& parts;
  const CutWalk& walk;
  int32_t number;

  [[nodiscard]] __device__ __forceinline__ int32_t end_of(int32_t number, int32_t pages) const {
    const int32_t handed = walk.end - walk.last, whole = handed + walk.last - walk.first;
    if (number < handed) return handed;
    return number < whole ? min(whole, number + kChunkPages) : pages;
  }
  template <class Role>
  __device__ __forceinline__ void before(int32_t page, Role& role) const {
    if (page != walk.rest || walk.rest == walk.first) return;
    float* const from = handed_on(number - 1);
    role.take_part(w, from, from + parts.stats_at(0));
  }
  template <class Role>
  __device__ __forceinline__ void behind(int32_t page, Role& role) const {
    float* const to = page >= walk.last ? handed_on(number) : of_chunk(page);
    role.leave_part(w, to, to + parts.stats_at(0));
    role.begin_part();
  }

 private:
  [[nodiscard]] __device__ __forceinline__ float* of_chunk(int32_t page) const {
    return parts.first + static_cast<int64_t>(page / kChunkPages - w.first_chunk()) * parts.part_floats();
  }
  // Behind all parts of all.
  [[nodiscard]] __device__ __forceinline__ float* handed_on(int32_t of) const {
    const int64_t heads = static_cast<int64_t>(gridDim.x) * args.kv_heads;
    const int64_t place = static_cast<int64_t>(blockIdx.x) * args.kv_heads + blockIdx.y;
    return args.partial + (heads * args.most_parts + place * args.walks + of) * parts.part_floats();
  }
};
#endif

}  // namespace paceline::kernels::cuda::joined_pages
