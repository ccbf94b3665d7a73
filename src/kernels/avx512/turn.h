// Sixteen rows of bytes turned, so that a lane has four neighbouring bytes of one row.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace paceline::kernels::avx512 {

inline __m128i load_block(const uint8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }

// out[4 * b + u], lane i: bytes at + 16 * b + 4 * u … + 3 of rows[i].
// Quarters from memory are inserted without a shuffle; only the 4x4 turns within them need that port.
template <int kCount>
[[gnu::always_inline]] inline void turn_rows(const uint8_t* const* rows, int64_t at, __m512i* out) {
  __m512i quarters[kCount][4];  // rows j, j + 4, j + 8, j + 12
  for (int j = 0; j < 4; ++j) {
    for (int b = 0; b < kCount; ++b) {
      const int64_t from = at + 16 * b;
      __m512i v = _mm512_castsi128_si512(load_block(rows[j] + from));
      v = _mm512_inserti32x4(v, load_block(rows[j + 4] + from), 1);
      v = _mm512_inserti32x4(v, load_block(rows[j + 8] + from), 2);
      quarters[b][j] = _mm512_inserti32x4(v, load_block(rows[j + 12] + from), 3);
    }
  }
  for (int b = 0; b < kCount; ++b) {
    const auto& q = quarters[b];
    const __m512i a = _mm512_unpacklo_epi32(q[0], q[1]), c = _mm512_unpacklo_epi32(q[2], q[3]);
    const __m512i d = _mm512_unpackhi_epi32(q[0], q[1]), e = _mm512_unpackhi_epi32(q[2], q[3]);
    out[4 * b] = _mm512_unpacklo_epi64(a, c);
    out[4 * b + 1] = _mm512_unpackhi_epi64(a, c);
    out[4 * b + 2] = _mm512_unpacklo_epi64(d, e);
    out[4 * b + 3] = _mm512_unpackhi_epi64(d, e);
  }
}

}  // namespace paceline::kernels::avx512
