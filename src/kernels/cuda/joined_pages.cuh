// Joined pages in shared memory, and which of them a block has.
#pragma once

#include "kernels/cuda/attention_merge.cuh"
#include "kernels/cuda/bulk_copy.cuh"
#include "kernels/cuda/warpgroup.cuh"

namespace paceline::kernels::cuda::joined_pages {

constexpr int kDim = kJoinedDim;
constexpr int kPanelBytes = kPageTokens * 128;
constexpr int kPageBytes = kJoinedPanels * kPanelBytes;

// Pages come in pieces of two panels: first what is turned of the keys, then the values.
constexpr int kPieceBytes = 2 * kPanelBytes, kPiecesOfPage = kJoinedPanels / 2;
PACELINE_BOTH constexpr int piece_of(int panel) { return (panel + 2) / 2 % kPiecesOfPage; }
PACELINE_BOTH constexpr int first_panel(int piece) { return (piece * 2 + kJoinedPanels - 2) % kJoinedPanels; }

// The panel that queries' dims of so many 64 are multiplied with; in codes, the order of blocks is the queries', too.
template <bool kCodes = false>
PACELINE_BOTH constexpr int key_panel(int panel) {
  if (kCodes) return panel < 2 ? kJoinedPanels - 2 + panel : panel;
  return panel == 0 ? kJoinedPanels - 2 : panel == kDim / 128 ? kJoinedPanels - 1 : panel;
}

// Whether a score's product meets the piece of this panel of queries' dims there first.
template <bool kCodes>
PACELINE_BOTH constexpr bool meets_first(int panel) {
  for (int before = 0; before < panel; ++before)
    if (piece_of(key_panel<kCodes>(before)) == piece_of(key_panel<kCodes>(panel))) return false;
  return true;
}

#if PACELINE_WARPGROUPS
// Which pages a block has, and which part of all that is.
struct PartHere {
  int32_t part, parts, share, begin, end;

  __device__ __forceinline__ PartHere(const AttentionArgs& args, const Work& w) {
    part = static_cast<int32_t>(blockIdx.z);
    share = max(part - args.most_parts + 1, 0);
    const bool walks = args.most_parts == 1 && !args.parts_are_pages;
    parts = walks ? min(w.chunks(), 1) : args.parts_are_pages ? w.page_end - w.page_begin : w.chunks();
    const int32_t chunk = w.first_chunk() + part;
    begin = args.parts_are_pages ? w.page_begin + part : walks ? w.page_begin : max(w.page_begin, chunk * kChunkPages);
    end = args.parts_are_pages ? min(begin + 1, w.page_end)
                               : min(w.page_end, walks ? w.page_end : (chunk + 1) * kChunkPages);
  }
};

// Of a block that sees nothing the first one says so.
__device__ __forceinline__ void write_nothing(const AttentionArgs& args, const Work& w) {
  wait_for_previous();
  for (int32_t i = static_cast<int32_t>(threadIdx.x) * 4; i < w.queries * kDim; i += attention_block::kThreads * 4)
    attention_block::write_out(args, w, i / kDim, i % kDim, make_float4(0, 0, 0, 0));
}

// A block's pages as they come.
struct InTurn {
  int32_t begin, end;

  [[nodiscard]] __device__ __forceinline__ int32_t pages() const { return end - begin; }
  [[nodiscard]] __device__ __forceinline__ int32_t page(int32_t number) const { return begin + number; }
};

// What is done where a part begins and ends, by each role of a block: nothing.
struct NothingBetween {
  // Where the part ends that begins with the page of this number: behind the last one.
  [[nodiscard]] __device__ __forceinline__ int32_t end_of(int32_t, int32_t pages) const { return pages; }
  template <class Role>
  __device__ __forceinline__ void before(int32_t, Role&) const {}
  template <class Role>
  __device__ __forceinline__ void behind(int32_t, Role&) const {}
};

// All pages of a block's walk, part after part, by a role: what is done between parts is not in the loop that counts.
template <class Walk, class Between, class Role, class TakePage>
__device__ __forceinline__ void take_parts(const Walk& walk, const Between& between, Role& role, const TakePage& take) {
  for (int32_t number = 0; number < walk.pages();) {
    const int32_t end = between.end_of(number, walk.pages());
    between.before(walk.page(number), role);
#pragma unroll 1
    for (; number < end; ++number) take(number, walk.page(number));
    between.behind(walk.page(number - 1), role);
  }
}

// Where a sequence's pages of a KV head lie in memory.
struct PagesOf {
  DeviceSeq seq;
  int64_t head_at;

  __device__ __forceinline__ PagesOf(const Work& w, int32_t page_bytes)
      : seq(*w.seq), head_at(static_cast<int64_t>(w.kv_head) * page_bytes) {}
  [[nodiscard]] __device__ __forceinline__ const char* find(int32_t page) const {
    return static_cast<const char*>(seq.keys_of(page)) + head_at;
  }
  // Written long before this launch: pages below the sequence's first row are.
  [[nodiscard]] __device__ __forceinline__ bool is_old(int32_t page) const {
    return (page + 1) * kPageTokens <= seq.first_pos;
  }
  // Finding out where a place in memory is takes long where nobody has been near it lately: for many pages together.
  template <class Walk>
  __device__ __forceinline__ void touch(const Walk& walk, int32_t number) const {
    if (number >= walk.pages() || !is_old(walk.page(number))) return;
    uint32_t nothing;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(nothing) : "l"(find(walk.page(number))) : "memory");
  }
};
#endif

}  // namespace paceline::kernels::cuda::joined_pages
