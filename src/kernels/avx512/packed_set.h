// AVX-512's part of lanes/matmul_packed.h and lanes/matmul_blocks.h: 16 outputs.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "kernels/avx512/turn.h"
#include "kernels/avx512/vec.h"
#include "kernels/lanes/matmul_packed.h"

namespace paceline::kernels::avx512 {

// How far ahead of its use a line of weights is asked for.
inline constexpr int kAheadBytes = 2048;

struct PackedSet {
  using V = Vec;
  using Int = __m512i;
  static constexpr int kRows = 8;
  static constexpr bool kAddsRows = false;
  static constexpr bool kUnpacksBytes = false;

  static Int load(const uint8_t* p) { return _mm512_load_si512(p); }
  static uint8_t* append(Int v, uint8_t* out) {
    _mm512_store_si512(out, v);
    return out + sizeof v;
  }
  static Int four_bytes(const int8_t* p) {
    int32_t bytes;
    std::memcpy(&bytes, p, sizeof bytes);
    return _mm512_set1_epi32(bytes);
  }

  [[gnu::always_inline]] static inline void turn(const uint8_t* const* rows, int64_t at, Int* out) {
    turn_rows<1>(rows, at, out);
  }

  // Bytes, one a lane, without a sign and with one.
  static __m512 bytes_to_float(const uint8_t* p) { return to_float(_mm512_cvtepu8_epi32(load_block(p))); }
  static __m512 signed_to_float(const uint8_t* p) { return to_float(_mm512_cvtepi8_epi32(load_block(p))); }
  static __m512 to_float(Int v) { return _mm512_cvtepi32_ps(v); }
  static __m512 as_float(Int v) { return _mm512_castsi512_ps(v); }

  template <bool kNibbles>
  static constexpr int32_t packed_bytes(int32_t columns) {
    return columns * 16;
  }

  template <bool kNibbles>
  [[gnu::always_inline]] static inline void unpack(Int bytes, uint8_t* out) {
    if constexpr (kNibbles) {
      const Int low = _mm512_set1_epi8(15);
      _mm512_store_si512(out, _mm512_and_si512(bytes, low));
      _mm512_store_si512(out + 64, _mm512_and_si512(_mm512_srli_epi16(bytes, 4), low));
    } else {
      _mm512_store_si512(out, bytes);
    }
  }

  // Both formats are the same here.
  template <bool kNibbles, int MR, int kStep>
  [[gnu::always_inline]] static inline void dots(const uint8_t* packed, const int8_t* x, int64_t stride, int32_t group,
                                                 Int (&d)[MR]) {
    for (auto& sum : d) sum = _mm512_setzero_si512();
    for (int32_t k = 0; k < group; k += kStep) {
#pragma GCC unroll 8
      for (int j = 0; j < kStep / 4; ++j) {
        const Int w = _mm512_load_si512(packed + 64 * j);
        for (int m = 0; m < MR; ++m) d[m] = _mm512_dpbusd_epi32(d[m], w, four_bytes(x + m * stride + 4 * j));
      }
      packed += packed_bytes<kNibbles>(kStep);
      x += kStep;
    }
  }

  template <bool kNibbles, int MR, int kStep, bool kFetches>
  [[gnu::always_inline]] static inline void dots_packed(const uint8_t* values, const int8_t* x, int64_t stride,
                                                        int32_t group, Int (&d)[MR]) {
    constexpr int kColumns = kNibbles ? 8 : 4;
    const Int low = _mm512_set1_epi8(15);
    for (auto& sum : d) sum = _mm512_setzero_si512();
    for (int32_t k = 0; k < group; k += kStep) {
#pragma GCC unroll 8
      for (int j = 0; j < kStep / kColumns; ++j) {
        const Int w = load(values + 64 * j);
        if constexpr (kFetches) __builtin_prefetch(values + 64 * j + kAheadBytes);
        const int8_t* at = x + kColumns * j;
        if constexpr (kNibbles) {
          const Int even = _mm512_and_si512(w, low), odd = _mm512_and_si512(_mm512_srli_epi16(w, 4), low);
          for (int m = 0; m < MR; ++m) {
            d[m] = _mm512_dpbusd_epi32(d[m], even, four_bytes(at + m * stride));
            d[m] = _mm512_dpbusd_epi32(d[m], odd, four_bytes(at + m * stride + 4));
          }
        } else {
          for (int m = 0; m < MR; ++m) d[m] = _mm512_dpbusd_epi32(d[m], w, four_bytes(at + m * stride));
        }
      }
      values += 64 * kStep / kColumns;
      x += kStep;
    }
  }

  // What lanes/matmul_blocks.h asks for besides.
  static constexpr int kAheadBytes = avx512::kAheadBytes;
  template <int kMost>
  static constexpr bool kIsUnit = true;

  template <int kMost, int kUnits, int MR>
  struct UnitSums {
    Int d[MR];

    template <int u>
    [[gnu::always_inline]] void add(Int unit, const int8_t* x, int64_t stride) {
      for (int m = 0; m < MR; ++m)
        d[m] = _mm512_dpbusd_epi32(u == 0 ? _mm512_setzero_si512() : d[m], unit, four_bytes(x + m * stride));
    }
  };

  static Int look_up(const uint8_t (&levels)[16], Int codes) {
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(load_block(levels)), codes);
  }
  static Int all(int32_t v) { return _mm512_set1_epi32(v); }
  static Int both(Int a, Int b) { return _mm512_and_si512(a, b); }
  static Int either(Int a, Int b) { return _mm512_or_si512(a, b); }
  template <int kBits>
  static Int down(Int v) {
    return _mm512_srli_epi32(v, kBits);
  }
  template <int kBits>
  static Int up(Int v) {
    return _mm512_slli_epi32(v, kBits);
  }
  static Int down_by(Int v, int32_t bits) { return _mm512_srl_epi32(v, _mm_cvtsi32_si128(bits)); }
};

}  // namespace paceline::kernels::avx512
