// AVX2's part of lanes/matmul_packed.h and lanes/matmul_blocks.h: 8 outputs.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "kernels/avx2/vec.h"
#include "kernels/lanes/matmul_packed.h"

namespace paceline::kernels::avx2 {

// How far ahead of its use a line of weights is asked for.
inline constexpr int kAheadBytes = 1024;

struct PackedSet {
  using V = Vec;
  using Int = __m256i;
  static constexpr int kRows = 4;
  static constexpr bool kAddsRows = false;
  static constexpr bool kUnpacksBytes = true;

  static __m128i load_block(const uint8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
  static Int load(const uint8_t* p) { return _mm256_load_si256(reinterpret_cast<const Int*>(p)); }
  static uint8_t* append(Int v, uint8_t* out) {
    _mm256_store_si256(reinterpret_cast<Int*>(out), v);
    return out + sizeof v;
  }
  static Int four_bytes(const int8_t* p) {
    int32_t bytes;
    std::memcpy(&bytes, p, sizeof bytes);
    return _mm256_set1_epi32(bytes);
  }

  [[gnu::always_inline]] static inline void turn(const uint8_t* const* rows, int64_t at, Int* out) {
    Int h[4];  // rows j and j + 4
    for (int j = 0; j < 4; ++j)
      h[j] = _mm256_inserti128_si256(_mm256_castsi128_si256(load_block(rows[j] + at)), load_block(rows[j + 4] + at), 1);
    const Int a = _mm256_unpacklo_epi32(h[0], h[1]), c = _mm256_unpacklo_epi32(h[2], h[3]);
    const Int d = _mm256_unpackhi_epi32(h[0], h[1]), e = _mm256_unpackhi_epi32(h[2], h[3]);
    out[0] = _mm256_unpacklo_epi64(a, c);
    out[1] = _mm256_unpackhi_epi64(a, c);
    out[2] = _mm256_unpacklo_epi64(d, e);
    out[3] = _mm256_unpackhi_epi64(d, e);
  }

  // Bytes, one a lane, without a sign and with one.
  static __m128i eight_bytes(const uint8_t* p) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)); }
  static __m256 bytes_to_float(const uint8_t* p) { return to_float(_mm256_cvtepu8_epi32(eight_bytes(p))); }
  static __m256 signed_to_float(const uint8_t* p) { return to_float(_mm256_cvtepi8_epi32(eight_bytes(p))); }
  static __m256 to_float(Int v) { return _mm256_cvtepi32_ps(v); }
  static __m256 as_float(Int v) { return _mm256_castsi256_ps(v); }

  template <bool kNibbles>
  static constexpr int32_t packed_bytes(int32_t columns) {
    return columns * (kNibbles ? 8 : 16);
  }

  template <bool kNibbles>
  [[gnu::always_inline]] static inline void unpack(Int bytes, uint8_t* out) {
    const Int low = _mm256_set1_epi8(15);
    _mm256_store_si256(reinterpret_cast<Int*>(out), _mm256_and_si256(bytes, low));
    _mm256_store_si256(reinterpret_cast<Int*>(out + 32), _mm256_and_si256(_mm256_srli_epi16(bytes, 4), low));
  }

  template <bool kNibbles, int MR, int kStep>
  [[gnu::always_inline]] static inline void dots(const uint8_t* packed, const int8_t* x, int64_t stride, int32_t group,
                                                 Int (&d)[MR]) {
    for (auto& sum : d) sum = _mm256_setzero_si256();
    for (int32_t k = 0; k < group; k += kStep)
      add_step<kNibbles, MR, kStep>(packed + packed_bytes<kNibbles>(k), x + k, stride, d);
  }

  template <bool kNibbles, int MR, int kStep>
  [[gnu::always_inline]] static inline void add_step(const uint8_t* packed, const int8_t* x, int64_t stride,
                                                     Int (&d)[MR]) {
    if constexpr (kNibbles) {
      Int sums[MR];
      for (auto& sum : sums) sum = _mm256_setzero_si256();
#pragma GCC unroll 4
      for (int j = 0; j < kStep / 4; ++j) {
        const Int w = load(packed + 32 * j);
        for (int m = 0; m < MR; ++m)
          sums[m] = _mm256_add_epi16(sums[m], _mm256_maddubs_epi16(w, four_bytes(x + m * stride + 4 * j)));
      }
      for (int m = 0; m < MR; ++m) d[m] = _mm256_add_epi32(d[m], _mm256_madd_epi16(sums[m], _mm256_set1_epi16(1)));
    } else {
      Int low[MR], high[MR];
      for (int m = 0; m < MR; ++m) low[m] = high[m] = _mm256_setzero_si256();
// Unrolled further, sums move to memory.
#pragma GCC unroll 2
      for (int j = 0; j < kStep / 4; ++j) {
        const Int w_low = load(packed + 64 * j), w_high = load(packed + 64 * j + 32);
        for (int m = 0; m < MR; ++m) {
          const Int xs = four_bytes(x + m * stride + 4 * j);
          low[m] = _mm256_add_epi16(low[m], _mm256_maddubs_epi16(w_low, xs));
          high[m] = _mm256_add_epi16(high[m], _mm256_maddubs_epi16(w_high, xs));
        }
      }
      for (int m = 0; m < MR; ++m) {
        d[m] = _mm256_add_epi32(d[m], _mm256_madd_epi16(low[m], _mm256_set1_epi16(1)));
        d[m] = _mm256_add_epi32(d[m], _mm256_madd_epi16(high[m], _mm256_set1_epi16(16)));
      }
    }
  }

  template <bool kNibbles, int MR, int kStep, bool kFetches>
  [[gnu::always_inline]] static inline void dots_packed(const uint8_t* values, const int8_t* x, int64_t stride,
                                                        int32_t group, Int (&d)[MR]) {
    constexpr int kColumns = kNibbles ? 8 : 4;
    const Int mask = _mm256_set1_epi8(15), ones = _mm256_set1_epi16(1);
    for (auto& sum : d) sum = _mm256_setzero_si256();
    for (int32_t k = 0; k < group; k += kStep) {
      Int low[MR], high[MR];
      for (int m = 0; m < MR; ++m) low[m] = high[m] = _mm256_setzero_si256();
#pragma GCC unroll 8
      for (int j = 0; j < kStep / kColumns; ++j) {
        const Int w = load(values + 32 * j);
        if constexpr (kFetches) __builtin_prefetch(values + 32 * j + kAheadBytes);
        const Int w_low = _mm256_and_si256(w, mask), w_high = _mm256_and_si256(_mm256_srli_epi16(w, 4), mask);
        for (int m = 0; m < MR; ++m) {
          const int8_t* at = x + m * stride + kColumns * j;
          const Int xs = four_bytes(at);
          low[m] = _mm256_add_epi16(low[m], _mm256_maddubs_epi16(w_low, xs));
          if constexpr (kNibbles)
            low[m] = _mm256_add_epi16(low[m], _mm256_maddubs_epi16(w_high, four_bytes(at + 4)));
          else
            high[m] = _mm256_add_epi16(high[m], _mm256_maddubs_epi16(w_high, xs));
        }
      }
      for (int m = 0; m < MR; ++m) {
        d[m] = _mm256_add_epi32(d[m], _mm256_madd_epi16(low[m], ones));
        if constexpr (!kNibbles) d[m] = _mm256_add_epi32(d[m], _mm256_madd_epi16(high[m], _mm256_set1_epi16(16)));
      }
      values += 32 * kStep / kColumns;
      x += kStep;
    }
  }

  // What lanes/matmul_blocks.h asks for besides.
  static constexpr int kAheadBytes = avx2::kAheadBytes;
  // Whether codes up to kMost are multiplied as they are. Larger ones are nibbles of bytes, like those of q8.
  template <int kMost>
  static constexpr bool kIsUnit = kMost < 64;
  // Units whose products 16 bits hold, two columns in a lane.
  static constexpr int units_together(int most) { return most < 16 ? 8 : most < 32 ? 4 : 2; }

  template <int kMost, int kUnits, int MR>
  struct UnitSums {
    static constexpr int kTogether = kIsUnit<kMost> ? units_together(kMost) : 8;
    Int d[MR], low[MR], high[MR];

    template <int u>
    [[gnu::always_inline]] void add(Int unit, const int8_t* x, int64_t stride) {
      const Int mask = _mm256_set1_epi8(15);
      for (int m = 0; m < MR; ++m) {
        const Int xs = four_bytes(x + m * stride);
        if constexpr (kIsUnit<kMost>) {
          put<u % kTogether == 0>(_mm256_maddubs_epi16(unit, xs), low[m]);
        } else {
          put<u % kTogether == 0>(_mm256_maddubs_epi16(_mm256_and_si256(unit, mask), xs), low[m]);
          const Int above = _mm256_and_si256(_mm256_srli_epi16(unit, 4), mask);
          put<u % kTogether == 0>(_mm256_maddubs_epi16(above, xs), high[m]);
        }
      }
      if constexpr (u % kTogether == kTogether - 1 || u == kUnits - 1) widen<u / kTogether == 0>();
    }

   private:
    template <bool kFirst>
    [[gnu::always_inline]] static void put(Int products, Int& sum) {
      sum = kFirst ? products : _mm256_add_epi16(sum, products);
    }
    template <bool kFirst>
    [[gnu::always_inline]] void widen() {
      for (int m = 0; m < MR; ++m) {
        const Int sum = _mm256_madd_epi16(low[m], _mm256_set1_epi16(1));
        d[m] = kFirst ? sum : _mm256_add_epi32(d[m], sum);
        if constexpr (!kIsUnit<kMost>) d[m] = _mm256_add_epi32(d[m], _mm256_madd_epi16(high[m], _mm256_set1_epi16(16)));
      }
    }
  };

  static Int look_up(const uint8_t (&levels)[16], Int codes) {
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load_block(levels)), codes);
  }
  static Int all(int32_t v) { return _mm256_set1_epi32(v); }
  static Int both(Int a, Int b) { return _mm256_and_si256(a, b); }
  static Int either(Int a, Int b) { return _mm256_or_si256(a, b); }
  template <int kBits>
  static Int down(Int v) {
    return _mm256_srli_epi32(v, kBits);
  }
  template <int kBits>
  static Int up(Int v) {
    return _mm256_slli_epi32(v, kBits);
  }
  static Int down_by(Int v, int32_t bits) { return _mm256_srl_epi32(v, _mm_cvtsi32_si128(bits)); }
};

}  // namespace paceline::kernels::avx2
