// Joined pages on their way into shared memory, a piece at a time. Pieces have places by turns. Whoever has used one
// frees its place, for that which comes so many places later, so that the memory always has something to bring.
#pragma once

#include "kernels/cuda/coded_pages.cuh"
#include "kernels/cuda/joined_pages.cuh"

namespace paceline::kernels::cuda::joined_pages {

#if PACELINE_WARPGROUPS
template <int kPlaces>
struct PieceRing {
  uint32_t places, barriers;  // barriers: of each place that its piece is there, and that it is free

  __device__ __forceinline__ PieceRing(char* shared, int32_t places_at, int32_t barriers_at)
      : places(shared_address(shared) + places_at), barriers(shared_address(shared) + barriers_at) {}
  // By one thread: so many arrivals bring a piece, and so many free its place.
  __device__ __forceinline__ void init(int32_t bring, int32_t free) const {
    for (int i = 0; i < kPlaces; ++i) {
      init_barrier(barriers + i * 8, bring);
      init_barrier(barriers + (kPlaces + i) * 8, free);
    }
  }

  [[nodiscard]] __device__ __forceinline__ uint32_t at(int32_t piece) const {
    return places + piece % kPlaces * kPieceBytes;
  }
  [[nodiscard]] __device__ __forceinline__ uint32_t there(int32_t piece) const {
    return barriers + piece % kPlaces * 8;
  }
  __device__ __forceinline__ void wait_there(int32_t piece) const {
    wait_barrier(there(piece), static_cast<uint32_t>(piece / kPlaces % 2));
  }
  // Until what was in its place is not needed any more.
  __device__ __forceinline__ void wait_free(int32_t piece) const {
    if (piece >= kPlaces)
      wait_barrier(barriers + (kPlaces + piece % kPlaces) * 8, static_cast<uint32_t>((piece / kPlaces + 1) % 2));
  }
  __device__ __forceinline__ void free(int32_t piece) const { arrive(barriers + (kPlaces + piece % kPlaces) * 8); }
};

// Pages of bf16, asked for by a warp that does nothing else. Those that are old are read while what comes in front of
// this kernel still runs.
template <class Ring, class Walk>
struct AskedPages {
  const Ring& ring;
  const Walk& walk;
  PagesOf pages;
  bool waited = false;
  const char* here = nullptr;

  __device__ __forceinline__ AskedPages(const Ring& places, const Walk& all, const Work& w)
      : ring(places), walk(all), pages(w, kPageBytes) {}
  // By a warp that has nothing else to do: what there is room for, in front of a __syncthreads() of the block, and the
  // rest.
  template <int kPlaces>
  __device__ __forceinline__ void ask_all(int32_t lane) {
    const int32_t all = walk.pages() * kPiecesOfPage, first = min(all, kPlaces);
    if (lane == 0) ask(0, first);
    __syncwarp();
    for (int32_t number = lane; number < min(walk.pages(), 4 * 32); number += 32) pages.touch(walk, number);
    __syncthreads();
    if (lane == 0) ask(first, all);
  }

 private:
  // By one thread: pieces, in their order.
  __device__ __forceinline__ void ask(int32_t begin, int32_t end) {
    for (int32_t piece = begin; piece < end; ++piece) {
      const int32_t number = piece / kPiecesOfPage, part = piece % kPiecesOfPage;
      if (part == 0 || here == nullptr) here = pages.find(walk.page(number));
      if (!waited && !pages.is_old(walk.page(number))) {
        wait_for_previous();
        waited = true;
      }
      ring.wait_free(piece);
      expect_bytes(ring.there(piece), kPieceBytes);
      copy_bulk(ring.at(piece), here + first_panel(part) * kPanelBytes, kPieceBytes, ring.there(piece));
    }
  }
};

// Pages of codes, which so many threads make bf16: what a thread has of a page is asked for while the one before it is
// put where it belongs.
template <class Ring, class Walk, int kThreads>
struct BroughtPages {
  static constexpr int kLoads = 2 * kSixteensOfPanel / kThreads;  // of a piece
  static constexpr int kAhead = 4;                                // pages on their way into the cache
  const Ring& ring;
  const Walk& walk;
  PagesOf pages;
  float* scales;  // [4][values', keys'][64]
  int32_t thread;

  __device__ __forceinline__ void fetch(int32_t number) const {
    if (thread > 0 || number >= walk.pages()) return;
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(pages.find(walk.page(number))), "r"(kCodedPageBytes)
                 : "memory");
  }
  __device__ __forceinline__ void load(const char* page, int part, uint4 (&codes)[kLoads]) const {
    const int32_t first = first_panel(part) * kSixteensOfPanel;
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
      codes[i] = *reinterpret_cast<const uint4*>(page + (first + i * kThreads + thread) * 16);
  }
  __device__ __forceinline__ void bring() const {
    uint4 codes[kPiecesOfPage][kLoads];
    float scale = 0;
    for (int32_t number = 0; number < kAhead; ++number) fetch(number);
    const auto load_scale = [&](const char* page) {
      if (thread < 2 * kPageTokens) scale = *reinterpret_cast<const float*>(page + kCodeBytes + thread * 4);
    };
    const char* next = pages.find(walk.page(0));
    load_scale(next);
#pragma unroll
    for (int part = 0; part < kPiecesOfPage; ++part) load(next, part, codes[part]);
#pragma unroll 1
    for (int32_t number = 0; number < walk.pages(); ++number) {
      fetch(number + kAhead);
      const bool more = number + 1 < walk.pages();
      if (more) next = pages.find(walk.page(number + 1));
#pragma unroll
      for (int part = 0; part < kPiecesOfPage; ++part) {
        const int32_t piece = number * kPiecesOfPage + part;
        ring.wait_free(piece);
        if (part == 0 && thread < 2 * kPageTokens) scales[number % 4 * (2 * kPageTokens) + thread] = scale;
#pragma unroll
        for (int i = 0; i < kLoads; ++i) put_sixteen(ring.at(piece), i * kThreads + thread, codes[part][i]);
        show_copies_to_tensor_cores();
        __syncwarp();
        if (thread % 32 == 0) arrive(ring.there(piece));
        if (more) load(next, part, codes[part]);
        if (more && part == 0) load_scale(next);
      }
    }
  }
};
#endif

}  // namespace paceline::kernels::cuda::joined_pages
