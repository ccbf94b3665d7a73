// Preparing activations: one pass over rows that lie in the cache. Bound by arithmetic, about one operation per
// element; below one per cent of a matrix product.
#include "kernels/avx2/act.h"

#include <immintrin.h>

#include "kernels/avx2/vec.h"
#include "kernels/lanes/matmul_f32.h"
#include "kernels/portable/act.h"

namespace paceline::kernels::avx2 {
namespace {

bool is_quantised(const ActShape& shape) { return shape.kind != ActKind::f32 && shape.kind != ActKind::bf16; }

float top_of(const float* x, int32_t count) {
  const __m256 no_sign = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
  __m256 top8 = _mm256_setzero_ps();
  for (int32_t k = 0; k < count; k += 8) top8 = _mm256_max_ps(top8, _mm256_and_ps(_mm256_loadu_ps(x + k), no_sign));
  __m128 top = _mm_max_ps(_mm256_castps256_ps128(top8), _mm256_extractf128_ps(top8, 1));
  top = _mm_max_ps(top, _mm_movehl_ps(top, top));
  return _mm_cvtss_f32(_mm_max_ss(top, _mm_movehdup_ps(top)));
}

int32_t sum_of(__m256i v) {
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  four = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
  return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 1)));
}

// Quantises a group of 16 into q; returns its scale, `sum` gets Σ q.
float quantise_16(const float* x, int8_t* q, int32_t& sum) {
  const float top = top_of(x, 16);
  const __m256 inverse = _mm256_set1_ps(top > 0 ? 127.0f / top : 0.0f);
  const __m256i a = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), inverse));
  const __m256i b = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8), inverse));
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xd8);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(q),
                   _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
  sum = sum_of(_mm256_add_epi32(a, b));
  return top / 127.0f;
}

// The same of a group that is a multiple of 32.
float quantise_group(const float* x, int32_t group, bool nibbles, int8_t* q, int32_t& sum) {
  const float top = top_of(x, group);
  const __m256 inverse = _mm256_set1_ps(top > 0 ? 127.0f / top : 0.0f);
  const auto round8 = [&](const float* p) { return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(p), inverse)); };
  // Packing works within halves, so that lanes of four come out as 0 2 4 6 1 3 5 7.
  const __m256i in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i even_odd =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15));
  __m256i total = _mm256_setzero_si256();
  for (int32_t k = 0; k < group; k += 32) {
    const __m256i a = round8(x + k), b = round8(x + k + 8), c = round8(x + k + 16), d = round8(x + k + 24);
    total = _mm256_add_epi32(total, _mm256_add_epi32(_mm256_add_epi32(a, b), _mm256_add_epi32(c, d)));
    __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
    bytes = _mm256_permutevar8x32_epi32(bytes, in_order);
    if (nibbles) bytes = _mm256_shuffle_epi8(bytes, even_odd);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(q + k), bytes);
  }
  sum = sum_of(total);
  return top / 127.0f;
}

}  // namespace

size_t act_bytes(const ActShape& shape) {
  if (is_quantised(shape)) return portable::act_bytes(shape);
  return static_cast<size_t>(shape.rows * lanes::f32_stride<Vec>(shape.cols)) * sizeof(float);
}

void prepare(const Act& act, const float* x, int64_t ldx, int32_t row_begin, int32_t row_end) {
  if (!is_quantised(act.shape)) return lanes::prepare_f32<Vec>(act, x, ldx, row_begin, row_end);
  const portable::QuantisedRows parts = portable::quantised_rows(act);
  const int32_t group = act.shape.group, groups = act.shape.cols / group;
  for (int32_t r = row_begin; r < row_end; ++r) {
    for (int32_t g = 0; g < groups; ++g) {
      const int64_t at = static_cast<int64_t>(r) * groups + g;
      int32_t sum = 0;
      const float* from = x + r * ldx + g * group;
      int8_t* const q = parts.q + at * group;
      parts.scales[at] = group == 16 ? quantise_16(from, q, sum)
                                     : quantise_group(from, group, act.shape.kind == ActKind::nibbles, q, sum);
      parts.sums[at] = parts.scales[at] * static_cast<float>(sum);
    }
  }
}

}  // namespace paceline::kernels::avx2
