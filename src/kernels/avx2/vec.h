// The 256-bit vector of float32 that lanes/ is written against. max and min give their first operand where one is not a
// number, so that such values pass through exp and what stands on it.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace paceline::kernels::avx2 {

struct Vec {
  using F = __m256;
  static constexpr int kLanes = 8;
  static constexpr int kTogether = 1;

  static F load(const float* p) { return _mm256_loadu_ps(p); }
  static F load_ints(const int32_t* p) {
    return _mm256_cvtepi32_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static void store(float* p, F v) { _mm256_storeu_ps(p, v); }
  static F set1(float v) { return _mm256_set1_ps(v); }
  static F add(F a, F b) { return _mm256_add_ps(a, b); }
  static F sub(F a, F b) { return _mm256_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static F div(F a, F b) { return _mm256_div_ps(a, b); }
  static F max(F a, F b) { return _mm256_max_ps(b, a); }
  // Also where v is not a number.
  static F at_least(F v, F least) { return _mm256_max_ps(v, least); }
  static F min(F a, F b) { return _mm256_min_ps(b, a); }
  static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  static F round(F v) { return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static F pow2(F n) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23));
  }
  static F zero_below(F x, F limit, F y) { return _mm256_andnot_ps(_mm256_cmp_ps(x, limit, _CMP_LT_OQ), y); }
  // Halves, then halves of those: ((0+4)+(2+6)) + ((1+5)+(3+7)).
  static float sum(F v) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
  static float top(F v) {
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
  }
  // The sums of four, with the same additions.
  static void sum4(F a, F b, F c, F d, float* out) {
    const F ab = _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
    const F cd = _mm256_add_ps(_mm256_permute2f128_ps(c, d, 0x20), _mm256_permute2f128_ps(c, d, 0x31));
    const F two = _mm256_add_ps(_mm256_shuffle_ps(ab, cd, 0x44), _mm256_shuffle_ps(ab, cd, 0xee));
    const F one = _mm256_add_ps(two, _mm256_movehdup_ps(two));  // a _ c _ b _ d _
    const __m128 ac = _mm256_castps256_ps128(one), bd = _mm256_extractf128_ps(one, 1);
    _mm_storeu_ps(out, _mm_unpacklo_ps(_mm_shuffle_ps(ac, ac, 0x88), _mm_shuffle_ps(bd, bd, 0x88)));
  }
  // The sums of eight, with the same additions; lane i: of v[i]. A pair's parts are added crosswise, so that of its two
  // permutations one is a blend.
  static F sums(const F (&v)[kLanes]) {
    F four[4], two[2];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
      four[i] = _mm256_add_ps(_mm256_blend_ps(v[i], v[i + 4], 0xf0), _mm256_permute2f128_ps(v[i], v[i + 4], 0x21));
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const F a = four[2 * i], b = four[2 * i + 1];
      two[i] = _mm256_add_ps(_mm256_blend_ps(a, b, 0xcc), _mm256_shuffle_ps(a, b, 0x4e));
    }
    return _mm256_add_ps(_mm256_shuffle_ps(two[0], two[1], 0x88), _mm256_shuffle_ps(two[0], two[1], 0xdd));
  }
  // One permutation: loading the eight into both halves takes no operation, and zeros come with it.
  static F load_bf16(const uint16_t* p) {
    const __m256i twice = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    const __m256i upper = _mm256_setr_epi8(-1, -1, 0, 1, -1, -1, 2, 3, -1, -1, 4, 5, -1, -1, 6, 7, -1, -1, 8, 9, -1, -1,
                                           10, 11, -1, -1, 12, 13, -1, -1, 14, 15);
    return _mm256_castsi256_ps(_mm256_shuffle_epi8(twice, upper));
  }
  // E4M3 is float16 without the first bit of the exponent and the last ones: 2^-8 of what it stands for.
  static F halves_of_e4m3(const uint8_t* p) {
    const __m128i codes = _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
    const __m128i halves = _mm_and_si128(_mm_slli_epi16(codes, 7), _mm_set1_epi16(static_cast<int16_t>(0xbfff)));
    return _mm256_cvtph_ps(halves);
  }
  // Times `size`, a power of two.
  static F load_e4m3(const uint8_t* p, float size = 1.0f) {
    return _mm256_mul_ps(halves_of_e4m3(p), _mm256_set1_ps(256.0f * size));
  }
  struct Levels {
    F low, high;
  };
  static Levels levels(const float* p, float scale) {
    return {mul(load(p), set1(scale)), mul(load(p + kLanes), set1(scale))};
  }
  static F look_up(const Levels& levels, const uint8_t* p) {
    int32_t four;
    std::memcpy(&four, p, sizeof four);
    const __m256i bytes = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(four));
    const __m256i codes = _mm256_or_si256(_mm256_srli_epi64(bytes, 4), _mm256_slli_epi64(bytes, 32));
    // Three bits of each lane count; the fourth says in which half.
    const F low = _mm256_permutevar8x32_ps(levels.low, codes), high = _mm256_permutevar8x32_ps(levels.high, codes);
    return _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(codes, 28)));
  }
  static F load_f16(const uint16_t* p) { return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
};

}  // namespace paceline::kernels::avx2
