// The 512-bit vector of float32 that lanes/ is written against. max and min give their first operand where one is not a
// number, so that such values pass through exp and what stands on it.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace paceline::kernels::avx512 {

struct Vec {
  using F = __m512;
  static constexpr int kLanes = 16;
  static constexpr int kTogether = 1;

  static F load(const float* p) { return _mm512_loadu_ps(p); }
  static F load_ints(const int32_t* p) { return _mm512_cvtepi32_ps(_mm512_loadu_si512(p)); }
  static void store(float* p, F v) { _mm512_storeu_ps(p, v); }
  static F set1(float v) { return _mm512_set1_ps(v); }
  static F add(F a, F b) { return _mm512_add_ps(a, b); }
  static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F div(F a, F b) { return _mm512_div_ps(a, b); }
  static F max(F a, F b) { return _mm512_max_ps(b, a); }
  // Also where v is not a number.
  static F at_least(F v, F least) { return _mm512_max_ps(v, least); }
  static F min(F a, F b) { return _mm512_min_ps(b, a); }
  static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static F round(F v) { return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static F pow2(F n) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127)), 23));
  }
  static F zero_below(F x, F limit, F y) { return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, limit, _CMP_NLT_UQ), y); }
  // Halves, then halves of those, down to one.
  static float sum(F v) {
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
  static float top(F v) { return _mm512_reduce_max_ps(v); }
  // The sums of four, with the same additions.
  static void sum4(F a, F b, F c, F d, float* out) {
    const F ab = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
    const F cd = _mm512_add_ps(_mm512_shuffle_f32x4(c, d, 0x44), _mm512_shuffle_f32x4(c, d, 0xee));
    const F four = _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xdd));
    const F two = _mm512_add_ps(four, _mm512_permute_ps(four, 0x4e));
    const F one = _mm512_add_ps(two, _mm512_movehdup_ps(two));
    const __m512i firsts = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    _mm_storeu_ps(out, _mm512_castps512_ps128(_mm512_permutexvar_ps(firsts, one)));
  }
  // The sums of sixteen, with the same additions; lane i: of v[i]. A pair's parts are added crosswise, so that of its
  // two permutations one is a mask.
  static F sums(const F (&v)[kLanes]) {
    F eight[8], four[4], two[2];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      const int at = i / 2 % 4 + i % 2 * 4;  // 0 4 1 5 2 6 3 7
      eight[i] =
          _mm512_add_ps(_mm512_mask_blend_ps(0xff00, v[at], v[at + 8]), _mm512_shuffle_f32x4(v[at], v[at + 8], 0x4e));
    }
    const __m512i crosswise = _mm512_setr_epi32(4, 5, 6, 7, 16, 17, 18, 19, 12, 13, 14, 15, 24, 25, 26, 27);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const F a = eight[2 * i], b = eight[2 * i + 1];
      four[i] = _mm512_add_ps(_mm512_mask_blend_ps(0xf0f0, a, b), _mm512_permutex2var_ps(a, crosswise, b));
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const F a = four[2 * i], b = four[2 * i + 1];
      two[i] = _mm512_add_ps(_mm512_mask_blend_ps(0xcccc, a, b), _mm512_shuffle_ps(a, b, 0x4e));
    }
    return _mm512_add_ps(_mm512_shuffle_ps(two[0], two[1], 0x88), _mm512_shuffle_ps(two[0], two[1], 0xdd));
  }
  static F load_bf16(const uint16_t* p) {
    const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
  }
  // E4M3 is float16 without the first bit of the exponent and the last ones: 2^-8 of what it stands for.
  static F halves_of_e4m3(const uint8_t* p) {
    const __m256i codes = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    const __m256i halves =
        _mm256_and_si256(_mm256_slli_epi16(codes, 7), _mm256_set1_epi16(static_cast<int16_t>(0xbfff)));
    return _mm512_cvtph_ps(halves);
  }
  // Times `size`, a power of two.
  static F load_e4m3(const uint8_t* p, float size = 1.0f) {
    return _mm512_mul_ps(halves_of_e4m3(p), _mm512_set1_ps(256.0f * size));
  }
  using Levels = F;
  static Levels levels(const float* p, float scale) { return mul(load(p), set1(scale)); }
  static F look_up(Levels levels, const uint8_t* p) {
    const __m512i bytes = _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
    // Four bits of each lane count.
    const __m512i codes = _mm512_or_si512(_mm512_srli_epi64(bytes, 4), _mm512_slli_epi64(bytes, 32));
    return _mm512_permutexvar_ps(codes, levels);
  }
  static F load_f16(const uint16_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
};

}  // namespace paceline::kernels::avx512
