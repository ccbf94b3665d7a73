// AVX2's set of lanes/matmul_packed.h and lanes/matmul_blocks.h where there is AVX-VNNI: the dot product of four
// unsigned and four signed bytes (VPDPBUSD, which does not saturate). 8 outputs.
#pragma once

#include "kernels/avx2/packed_set.h"

namespace paceline::kernels::avx2 {

struct VnniSet : PackedSet {
  static constexpr bool kUnpacksBytes = false;

  template <bool kNibbles>
  static constexpr int32_t packed_bytes(int32_t columns) {
    return columns * 8;
  }

  template <bool kNibbles>
  [[gnu::always_inline]] static inline void unpack(Int bytes, uint8_t* out) {
    if constexpr (kNibbles)
      PackedSet::unpack<true>(bytes, out);
    else
      _mm256_store_si256(reinterpret_cast<Int*>(out), bytes);
  }

  template <int kMost>
  static constexpr bool kIsUnit = true;

  template <int kMost, int kUnits, int MR>
  struct UnitSums {
    Int d[MR];

    template <int u>
    [[gnu::always_inline]] void add(Int unit, const int8_t* x, int64_t stride) {
      for (int m = 0; m < MR; ++m)
        d[m] = _mm256_dpbusd_avx_epi32(u == 0 ? _mm256_setzero_si256() : d[m], unit, four_bytes(x + m * stride));
    }
  };

  // Both formats are the same here.
  template <bool kNibbles, int MR, int kStep>
  [[gnu::always_inline]] static inline void dots(const uint8_t* packed, const int8_t* x, int64_t stride, int32_t group,
                                                 Int (&d)[MR]) {
    for (auto& sum : d) sum = _mm256_setzero_si256();
    for (int32_t k = 0; k < group; k += kStep) {
#pragma GCC unroll 8
      for (int j = 0; j < kStep / 4; ++j) {
        const Int w = load(packed + 32 * j);
        for (int m = 0; m < MR; ++m) d[m] = _mm256_dpbusd_avx_epi32(d[m], w, four_bytes(x + m * stride + 4 * j));
      }
      packed += packed_bytes<kNibbles>(kStep);
      x += kStep;
    }
  }

  template <bool kNibbles, int MR, int kStep, bool kFetches>
  [[gnu::always_inline]] static inline void dots_packed(const uint8_t* values, const int8_t* x, int64_t stride,
                                                        int32_t group, Int (&d)[MR]) {
    constexpr int kColumns = kNibbles ? 8 : 4;
    const Int low = _mm256_set1_epi8(15);
    for (auto& sum : d) sum = _mm256_setzero_si256();
    for (int32_t k = 0; k < group; k += kStep) {
#pragma GCC unroll 8
      for (int j = 0; j < kStep / kColumns; ++j) {
        const Int w = load(values + 32 * j);
        if constexpr (kFetches) __builtin_prefetch(values + 32 * j + kAheadBytes);
        const int8_t* at = x + kColumns * j;
        if constexpr (kNibbles) {
          const Int even = _mm256_and_si256(w, low), odd = _mm256_and_si256(_mm256_srli_epi16(w, 4), low);
          for (int m = 0; m < MR; ++m) {
            d[m] = _mm256_dpbusd_avx_epi32(d[m], even, four_bytes(at + m * stride));
            d[m] = _mm256_dpbusd_avx_epi32(d[m], odd, four_bytes(at + m * stride + 4));
          }
        } else {
          for (int m = 0; m < MR; ++m) d[m] = _mm256_dpbusd_avx_epi32(d[m], w, four_bytes(at + m * stride));
        }
      }
      values += 32 * kStep / kColumns;
      x += kStep;
    }
  }
};

}  // namespace paceline::kernels::avx2
