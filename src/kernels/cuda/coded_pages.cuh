// Joined pages of codes on their way into shared memory: they become bf16, which is exact, and lie there as pages of
// bf16 do. Only scales tell the products apart.
#pragma once

#include <cuda_bf16.h>

#include "kernels/cuda/joined_pages.cuh"

namespace paceline::kernels::cuda::joined_pages {

#if PACELINE_WARPGROUPS
// Two codes of a word, by the selector's bytes, as bf16. A byte is a code and 128; behind 0x43 it is, as bf16, 128 and
// the byte below 128, and from there on every step counts twice: so of what is above 256 the half is meant.
__device__ __forceinline__ uint32_t two_codes(uint32_t bytes, uint32_t selector) {
  const uint32_t both = __byte_perm(bytes, 0x43434343u, selector);
  const __nv_bfloat162 middle = __float2bfloat162_rn(256.0f), half = __float2bfloat162_rn(0.5f);
  const __nv_bfloat162 away = __hsub2(*reinterpret_cast<const __nv_bfloat162*>(&both), middle);
  const __nv_bfloat162 code = __hmin2(away, __hmul2(away, half));
  return *reinterpret_cast<const uint32_t*>(&code);
}
__device__ __forceinline__ void put_eight(uint32_t to, uint32_t first, uint32_t second) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(two_codes(first, 0x4140)),
               "r"(two_codes(first, 0x4342)), "r"(two_codes(second, 0x4140)), "r"(two_codes(second, 0x4342))
               : "memory");
}
// Sixteen codes of a page in shared memory, by their number: quarters of a panel's rows, rows, panels.
constexpr int kSixteensOfPanel = 4 * kPageTokens;
__device__ __forceinline__ void put_sixteen(uint32_t page, int32_t number, const uint4& codes) {
  const int32_t row = number / 4 % kPageTokens, chunk = number % 4 * 2;
  const uint32_t to = page + number / kSixteensOfPanel * kPanelBytes + row * 128;
  put_eight(to + ((chunk ^ row % 8) << 4), codes.x, codes.y);
  put_eight(to + ((chunk + 1 ^ row % 8) << 4), codes.z, codes.w);
}

// Two places for pages, filled by some threads and used by others, by turns.
struct CodedSlots {
  static constexpr int kAhead = 4;  // pages on their way into the cache
  uint32_t slots, barriers;         // barriers: two that say a page is there
  float* scales;                    // [2][values', keys'][64]
  InTurn walk;
  PagesOf pages;

  // In shared memory: two pages, 16 bytes for barriers, 1 KB. So many threads bring a page.
  __device__ __forceinline__ CodedSlots(char* shared, int32_t slots_at, int32_t barriers_at, int32_t scales_at,
                                        int32_t arrivals, const Work& w, const InTurn& all)
      : slots(shared_address(shared) + slots_at),
        barriers(shared_address(shared) + barriers_at),
        scales(reinterpret_cast<float*>(shared + scales_at)),
        walk(all),
        pages(w, kCodedPageBytes) {
    if (threadIdx.x > 0) return;
    for (int i = 0; i < 2; ++i) init_barrier(barriers + i * 8, arrivals);
    show_barriers();
  }

  [[nodiscard]] __device__ __forceinline__ uint32_t slot_of(int32_t number) const {
    return slots + number % 2 * kPageBytes;
  }
  [[nodiscard]] __device__ __forceinline__ float* scales_of(int32_t number) const {
    return scales + number % 2 * (2 * kPageTokens);
  }
  [[nodiscard]] __device__ __forceinline__ const char* find(int32_t number) const {
    return pages.find(walk.page(number));
  }
  // Into the cache; by one thread. Nothing behind the last page.
  __device__ __forceinline__ void fetch(int32_t number) const {
    if (number >= walk.pages()) return;
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(find(number)), "r"(kCodedPageBytes) : "memory");
  }

  // By all that bring a page, behind it.
  __device__ __forceinline__ void show(int32_t number) const {
    show_copies_to_tensor_cores();
    arrive(barriers + number % 2 * 8);
  }
  __device__ __forceinline__ void wait(int32_t number) const {
    wait_barrier(barriers + number % 2 * 8, static_cast<uint32_t>(number / 2 % 2));
  }
};
#endif

}  // namespace paceline::kernels::cuda::joined_pages
