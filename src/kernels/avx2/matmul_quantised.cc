// y [rows, N] = x [rows, K] · W [N, K]^T for quantised W: the part of lanes/matmul_packed.h that is AVX2's. 8 outputs.
//
// There is no exact product of unsigned and signed bytes that adds up in 32 bits, and the 16-bit one saturates. So
// every weight is unpacked into nibbles: q8 into the low and the high half of each, q4 into the even and the odd
// column. Then a lane can take 16 products in 16 bits: 16 * 15 * 128 < 2^15.
//
// Bound: with few rows the bytes of W; per 64 weights, turning takes 22 instructions (q4: 11), one row 20 more (q4:
// 11). With many rows arithmetic: 15 instructions per 64 products (q4: 8).
#include <immintrin.h>

#include "kernels/avx2/matmul.h"
#include "kernels/avx2/vec.h"
#include "kernels/lanes/matmul_packed.h"

namespace paceline::kernels::avx2 {
namespace {

struct Set {
  using V = Vec;
  using Int = __m256i;
  static constexpr int kRows = 4;
  static constexpr int kBlocks = 2;

  static __m128i load_block(const uint8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
  static Int load(const uint8_t* p) { return _mm256_load_si256(reinterpret_cast<const Int*>(p)); }
  static Int four_bytes(const int8_t* p) {
    int32_t bytes;
    std::memcpy(&bytes, p, sizeof bytes);
    return _mm256_set1_epi32(bytes);
  }

  template <int kCount>
  [[gnu::always_inline]] static inline void turn(const uint8_t* const* rows, int64_t at, Int* out) {
    Int halves[kCount][4];  // rows j and j + 4
    for (int j = 0; j < 4; ++j)
      for (int b = 0; b < kCount; ++b)
        halves[b][j] = _mm256_inserti128_si256(_mm256_castsi128_si256(load_block(rows[j] + at + 16 * b)),
                                               load_block(rows[j + 4] + at + 16 * b), 1);
    for (int b = 0; b < kCount; ++b) {
      const auto& h = halves[b];
      const Int a = _mm256_unpacklo_epi32(h[0], h[1]), c = _mm256_unpacklo_epi32(h[2], h[3]);
      const Int d = _mm256_unpackhi_epi32(h[0], h[1]), e = _mm256_unpackhi_epi32(h[2], h[3]);
      out[4 * b] = _mm256_unpacklo_epi64(a, c);
      out[4 * b + 1] = _mm256_unpackhi_epi64(a, c);
      out[4 * b + 2] = _mm256_unpacklo_epi64(d, e);
      out[4 * b + 3] = _mm256_unpackhi_epi64(d, e);
    }
  }

  static __m256 to_float(Int v) { return _mm256_cvtepi32_ps(v); }
  static __m256 as_float(Int v) { return _mm256_castsi256_ps(v); }
  static __m256 bf16_low(Int v) { return as_float(_mm256_slli_epi32(v, 16)); }
  static __m256 bf16_high(Int v) { return as_float(_mm256_and_si256(v, _mm256_set1_epi32(-65536))); }

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

  template <bool kNibbles, int MR>
  [[gnu::always_inline]] static inline void dots(const uint8_t* packed, const int8_t* x, int64_t stride, int32_t group,
                                                 Int (&d)[MR]) {
    for (auto& sum : d) sum = _mm256_setzero_si256();
    for (int32_t k = 0; k < group; k += 32) add_32<kNibbles, MR>(packed + packed_bytes<kNibbles>(k), x + k, stride, d);
  }

  template <bool kNibbles, int MR>
  [[gnu::always_inline]] static inline void add_32(const uint8_t* packed, const int8_t* x, int64_t stride,
                                                   Int (&d)[MR]) {
    if constexpr (kNibbles) {
      Int sums[MR];
      for (auto& sum : sums) sum = _mm256_setzero_si256();
#pragma GCC unroll 4
      for (int j = 0; j < 8; ++j) {
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
      for (int j = 0; j < 8; ++j) {
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
};

}  // namespace

void matmul_quantised(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  lanes::matmul_packed<Set>(w, x, y, ldy, n_begin, n_end);
}

}  // namespace paceline::kernels::avx2
