// Two joined pages in shared memory, filled by turns, where warpgroups with outputs have all the threads there are: who
// is the last to have used a piece of one asks for that piece of the page after the next.
#pragma once

#include "kernels/cuda/joined_pages.cuh"

namespace paceline::kernels::cuda::joined_pages {

#if PACELINE_WARPGROUPS
struct PageSlots {
  uint32_t slots, barriers;
  int32_t* done;
  InTurn walk;
  PagesOf pages;

  __device__ __forceinline__ PageSlots(char* shared, int32_t slots_at, int32_t barriers_at, const Work& w,
                                       const InTurn& all)
      : slots(shared_address(shared) + slots_at),
        barriers(shared_address(shared) + barriers_at),
        done(reinterpret_cast<int32_t*>(shared + barriers_at + 2 * kPiecesOfPage * 8)),
        walk(all),
        pages(w, kPageBytes) {
    if (threadIdx.x > 0) return;
    for (int i = 0; i < 2 * kPiecesOfPage; ++i) {
      init_barrier(barriers + i * 8, 1);
      done[i] = 0;
    }
    show_barriers();
  }

  [[nodiscard]] __device__ __forceinline__ uint32_t slot_of(int32_t number) const {
    return slots + number % 2 * kPageBytes;
  }
  [[nodiscard]] __device__ __forceinline__ static int32_t place_of(int32_t number, int piece) {
    return number % 2 * kPiecesOfPage + piece;
  }
  // Where the page of this number is; nowhere behind the last. Asked for early: it takes a trip to the memory.
  [[nodiscard]] __device__ __forceinline__ const char* find(int32_t number) const {
    return number < walk.pages() ? pages.find(walk.page(number)) : nullptr;
  }
  // By one thread.
  __device__ __forceinline__ void ask(int32_t number, int piece, const char* page) const {
    if (page == nullptr) return;
    const uint32_t barrier = barriers + place_of(number, piece) * 8;
    expect_bytes(barrier, kPieceBytes);
    copy_bulk(slot_of(number) + first_panel(piece) * kPanelBytes, page + first_panel(piece) * kPanelBytes, kPieceBytes,
              barrier);
  }
  // The first two, and what comes in front of this kernel is waited for. Old ones are read while it runs.
  __device__ __forceinline__ void ask_first() const {
    const auto ask_some = [&](bool old) {
      if (threadIdx.x > 0) return;
      for (int32_t number = 0; number < min(2, walk.pages()); ++number)
        if (pages.is_old(walk.page(number)) == old)
          for (int piece = 0; piece < kPiecesOfPage; ++piece) ask(number, piece, find(number));
    };
    ask_some(true);
    // Of a chunk the others.
    if (threadIdx.x > 2 && threadIdx.x < kChunkPages) pages.touch(walk, static_cast<int32_t>(threadIdx.x));
    wait_for_previous();
    ask_some(false);
  }
  __device__ __forceinline__ void wait(int32_t number, int piece) const {
    wait_barrier(barriers + place_of(number, piece) * 8, static_cast<uint32_t>(number / 2 % 2));
  }
  // By whole warps, of which so many use the piece; `next`: the page after the next.
  __device__ __forceinline__ void finish(int32_t number, int piece, int32_t warps, const char* next) const {
    __syncwarp();
    if (threadIdx.x % 32 != 0) return;
    int32_t* count = done + place_of(number, piece);
    __threadfence_block();
    if (atomicAdd(count, 1) < warps - 1) return;
    *count = 0;
    __threadfence_block();
    ask(number + 2, piece, next);
  }
};
#endif

}  // namespace paceline::kernels::cuda::joined_pages
