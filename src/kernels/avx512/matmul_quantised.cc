// y [rows, N] = x [rows, K] · W [N, K]^T for quantised W: the part of lanes/matmul_packed.h that is AVX-512's. 16
// outputs.
//
// The dot product of four unsigned and four signed bytes (VPDPBUSD, which does not saturate) takes a turned vector of
// weights, four columns of 16 outputs, and the same four columns of one row of x in every lane. q4 unpacks into two
// such vectors: of 8 columns the even and the odd ones.
//
// Bound: with few rows the bytes of W; per 64 weights, turning takes 9.5 instructions (q4: 7), one row 4.5 more. With
// many rows the dot product and its loads of x: 2.5 instructions per 64 products, 1 of them the dot product.
#include <immintrin.h>

#include "kernels/avx512/matmul.h"
#include "kernels/avx512/turn.h"
#include "kernels/avx512/vec.h"
#include "kernels/lanes/matmul_packed.h"

namespace paceline::kernels::avx512 {
namespace {

struct Set {
  using V = Vec;
  using Int = __m512i;
  static constexpr int kRows = 8;
  static constexpr int kBlocks = 4;

  static Int four_bytes(const int8_t* p) {
    int32_t bytes;
    std::memcpy(&bytes, p, sizeof bytes);
    return _mm512_set1_epi32(bytes);
  }

  template <int kCount>
  [[gnu::always_inline]] static inline void turn(const uint8_t* const* rows, int64_t at, Int* out) {
    turn_rows<kCount>(rows, at, out);
  }

  static __m512 to_float(Int v) { return _mm512_cvtepi32_ps(v); }
  static __m512 as_float(Int v) { return _mm512_castsi512_ps(v); }
  static __m512 bf16_low(Int v) { return as_float(_mm512_slli_epi32(v, 16)); }
  static __m512 bf16_high(Int v) { return as_float(_mm512_and_si512(v, _mm512_set1_epi32(-65536))); }

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
  template <bool kNibbles, int MR>
  [[gnu::always_inline]] static inline void dots(const uint8_t* packed, const int8_t* x, int64_t stride, int32_t group,
                                                 Int (&d)[MR]) {
    for (auto& sum : d) sum = _mm512_setzero_si512();
    for (int32_t k = 0; k < group; k += 32) {
#pragma GCC unroll 8
      for (int j = 0; j < 8; ++j) {
        const Int w = _mm512_load_si512(packed + 64 * j);
        for (int m = 0; m < MR; ++m) d[m] = _mm512_dpbusd_epi32(d[m], w, four_bytes(x + m * stride + 4 * j));
      }
      packed += packed_bytes<kNibbles>(32);
      x += 32;
    }
  }
};

}  // namespace

void matmul_quantised(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  lanes::matmul_packed<Set>(w, x, y, ldy, n_begin, n_end);
}

}  // namespace paceline::kernels::avx512
