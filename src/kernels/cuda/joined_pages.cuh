// Joined pages in shared memory, and which of them a block has.
#pragma once

#include "kernels/cuda/attention_merge.cuh"
#include "kernels/cuda/bulk_copy.cuh"
#include "kernels/cuda/warpgroup.cuh"

namespace paceline::kernels::cuda::joined_pages {

constexpr int kDim = kJoinedDim;
constexpr int kPanelBytes = kPageTokens * 128;
constexpr int kPageBytes = kJoinedPanels * kPanelBytes;

// The panel that queries' dims of so many 64 are multiplied with; in codes, the order of blocks is the queries', too.
template <bool kCodes = false>
PACELINE_BOTH constexpr int key_panel(int panel) {
  if (kCodes) return panel < 2 ? kJoinedPanels - 2 + panel : panel;
  return panel == 0 ? kJoinedPanels - 2 : panel == kDim / 128 ? kJoinedPanels - 1 : panel;
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

// Pages by their numbers.
struct InOrder {
  [[nodiscard]] __device__ __forceinline__ int32_t page(int32_t number) const { return number; }
};

// Two pages in shared memory, filled by turns: those from number `begin` to `end` of an order.
template <class Order = InOrder>
struct PageSlots {
  uint32_t pages, barriers;
  int32_t* done;  // [2]: warps that have used it
  int32_t begin, end;
  DeviceSeq seq;
  int64_t head_at;
  Order order;

  // In shared memory: two pages, and 24 bytes.
  __device__ __forceinline__ PageSlots(char* shared, int32_t pages_at, int32_t barriers_at, const Work& w,
                                       int32_t first, int32_t last, const Order& pages_order = {})
      : pages(shared_address(shared) + pages_at),
        barriers(shared_address(shared) + barriers_at),
        done(reinterpret_cast<int32_t*>(shared + barriers_at + 16)),
        begin(first),
        end(last),
        seq(*w.seq),
        head_at(static_cast<int64_t>(w.kv_head) * kPageBytes),
        order(pages_order) {
    if (threadIdx.x > 0) return;
    for (int i = 0; i < 2; ++i) {
      init_barrier(barriers + i * 8, 1);
      done[i] = 0;
    }
    show_barriers();
  }

  [[nodiscard]] __device__ __forceinline__ uint32_t slot_at(int32_t slot) const { return pages + slot * kPageBytes; }
  // Where a page is; nowhere behind the last. Asked for early: it takes a trip to the memory.
  [[nodiscard]] __device__ __forceinline__ const char* find(int32_t page) const {
    return page < end ? static_cast<const char*>(seq.keys_of(order.page(page))) + head_at : nullptr;
  }
  // By one thread.
  __device__ __forceinline__ void ask(int32_t page, const char* from) const {
    if (from == nullptr) return;
    const uint32_t slot = (page - begin) % 2;
    expect_bytes(barriers + slot * 8, kPageBytes);
    copy_bulk(slot_at(slot), from, kPageBytes, barriers + slot * 8);
  }
  // Finding out where a place in memory is takes long where nobody has been near it lately: for all pages of a chunk or
  // two at the same time.
  __device__ __forceinline__ void touch_others() const {
    const int32_t page = begin + static_cast<int32_t>(threadIdx.x) - 32;
    if (page < begin + 2 || page >= min(end, begin + 2 * kChunkPages)) return;
    uint32_t nothing;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(nothing) : "l"(find(page)) : "memory");
  }
  // The first two, and what comes in front of this kernel is waited for. Pages below the sequence's first row are
  // older: those are read while it runs.
  __device__ __forceinline__ void ask_first() const {
    const auto ask_some = [&](bool old) {
      if (threadIdx.x > 0) return;
      for (int32_t page = begin; page < begin + 2; ++page)
        if (((order.page(page) + 1) * kPageTokens <= seq.first_pos) == old) ask(page, find(page));
    };
    ask_some(true);
    touch_others();
    wait_for_previous();
    ask_some(false);
  }
  // Its place in shared memory.
  __device__ __forceinline__ uint32_t wait(int32_t page) const {
    const int32_t number = page - begin;
    wait_barrier(barriers + number % 2 * 8, static_cast<uint32_t>(number / 2 % 2));
    return slot_at(number % 2);
  }
  // By whole warps: the last of them asks for `next`, the page after the next.
  __device__ __forceinline__ void finish(int32_t page, const char* next) const {
    __syncwarp();
    if (threadIdx.x % 32 != 0) return;
    int32_t* count = done + (page - begin) % 2;
    __threadfence_block();
    if (atomicAdd(count, 1) < attention_block::kThreads / 32 - 1) return;
    *count = 0;
    __threadfence_block();
    ask(page + 2, next);
  }
};
#endif

}  // namespace paceline::kernels::cuda::joined_pages
