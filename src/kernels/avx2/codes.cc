// Attention's products in codes. All sums are exact.
//
// Scores: the product of unsigned and signed bytes, |w| times x with w's sign; two of them fit 16 bits, since codes are
// never -128. Four operations per 32 products.
// Values: shares have all eight bits, so that two products do not fit 16: codes are widened and tokens paired once for
// all rows, 16 columns of a page at a time, and multiplied in 16 bits. Two operations per 16 products.
// Bound by arithmetic wherever more than two queries share a head.
#include "kernels/avx2/codes.h"

#include <immintrin.h>

#include <cstring>

#include "kernels/ops.h"
#include "kernels/portable/codes.h"

namespace paceline::kernels::avx2 {
namespace {

__m256i load_codes(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }

int32_t sum_of(__m256i v) {
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  four = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
  return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 1)));
}

// Two tokens times MR rows.
template <int MR>
void score_tile(const CodeRows& w, const int8_t* x, int32_t token, int32_t* y) {
  const __m256i ones = _mm256_set1_epi16(1);
  const int8_t *first = w.codes + token * w.stride, *second = first + w.stride;
  __m256i sums[MR][2];
  for (auto& row : sums)
    for (auto& sum : row) sum = _mm256_setzero_si256();
  for (int32_t k = 0; k < w.cols; k += 32) {
    const __m256i w0 = load_codes(first + k), w1 = load_codes(second + k);
    const __m256i a0 = _mm256_abs_epi8(w0), a1 = _mm256_abs_epi8(w1);
    for (int m = 0; m < MR; ++m) {
      const __m256i xs = load_codes(x + m * w.cols + k);
      const __m256i p0 = _mm256_maddubs_epi16(a0, _mm256_sign_epi8(xs, w0));
      const __m256i p1 = _mm256_maddubs_epi16(a1, _mm256_sign_epi8(xs, w1));
      sums[m][0] = _mm256_add_epi32(sums[m][0], _mm256_madd_epi16(p0, ones));
      sums[m][1] = _mm256_add_epi32(sums[m][1], _mm256_madd_epi16(p1, ones));
    }
  }
  for (int m = 0; m < MR; ++m)
    for (int i = 0; i < 2; ++i) y[m * kPageTokens + token + i] = sum_of(sums[m][i]);
}

// Tokens that stay in the first cache while all rows pass over them.
constexpr int32_t kBlockTokens = 16;

template <int MR>
void score_rows(const CodeRows& w, int32_t first, const int8_t* x, int32_t* y) {
  for (int32_t token = first; token < first + kBlockTokens; token += 2) score_tile<MR>(w, x, token, y);
}

constexpr int32_t kCodeColumns = 16;

// [token pair][first 8 columns, other 8]: in each lane of 32 bits one column of both tokens.
struct Paired {
  __m256i of[kPageTokens / 2][2];
};

void pair_tokens(const CodeRows& w, int32_t k, Paired& out) {
  const auto widened = [&](int32_t token) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w.codes + token * w.stride + k)));
  };
  for (int32_t pair = 0; pair < kPageTokens / 2; ++pair) {
    const __m256i a = widened(2 * pair), b = widened(2 * pair + 1);
    out.of[pair][0] = _mm256_unpacklo_epi16(a, b);
    out.of[pair][1] = _mm256_unpackhi_epi16(a, b);
  }
}

template <int MR>
void mix_tile(const Paired& w, const uint8_t* x, int32_t* y, int64_t ldy) {
  __m256i sums[MR][2];
  for (auto& row : sums)
    for (auto& sum : row) sum = _mm256_setzero_si256();
  for (int32_t pair = 0; pair < kPageTokens / 2; ++pair) {
    const __m256i w0 = w.of[pair][0], w1 = w.of[pair][1];
    for (int m = 0; m < MR; ++m) {
      const uint8_t* shares = x + m * kPageTokens + 2 * pair;
      const __m256i both = _mm256_set1_epi32(shares[0] | shares[1] << 16);
      sums[m][0] = _mm256_add_epi32(sums[m][0], _mm256_madd_epi16(w0, both));
      sums[m][1] = _mm256_add_epi32(sums[m][1], _mm256_madd_epi16(w1, both));
    }
  }
  // Unpacking works within halves: columns 0 … 3 and 8 … 11, then the others.
  for (int m = 0; m < MR; ++m) {
    auto* out = reinterpret_cast<__m256i*>(y + m * ldy);
    _mm256_storeu_si256(out, _mm256_permute2x128_si256(sums[m][0], sums[m][1], 0x20));
    _mm256_storeu_si256(out + 1, _mm256_permute2x128_si256(sums[m][0], sums[m][1], 0x31));
  }
}

}  // namespace

void code_scores(const CodeRows& w, const int8_t* x, const int32_t* sums, int32_t rows, int32_t* y) {
  if (w.cols % 32 != 0) return portable::code_scores(w, x, sums, rows, y);
  for (int32_t first = 0; first < kPageTokens; first += kBlockTokens) {
    int32_t r = 0;
    const auto at = [&] { return x + static_cast<int64_t>(r) * w.cols; };
    for (; r + 4 <= rows; r += 4) score_rows<4>(w, first, at(), y + r * kPageTokens);
    for (; r + 2 <= rows; r += 2) score_rows<2>(w, first, at(), y + r * kPageTokens);
    for (; r < rows; ++r) score_rows<1>(w, first, at(), y + r * kPageTokens);
  }
}

void code_mix(const CodeRows& w, const uint8_t* x, int32_t rows, int32_t* y) {
  if (w.cols % kCodeColumns != 0) return portable::code_mix(w, x, rows, y);
  Paired paired;
  for (int32_t k = 0; k < w.cols; k += kCodeColumns) {
    pair_tokens(w, k, paired);
    int32_t r = 0;
    const auto out = [&] { return y + static_cast<int64_t>(r) * w.cols + k; };
    for (; r + 4 <= rows; r += 4) mix_tile<4>(paired, x + r * kPageTokens, out(), w.cols);
    for (; r + 2 <= rows; r += 2) mix_tile<2>(paired, x + r * kPageTokens, out(), w.cols);
    for (; r < rows; ++r) mix_tile<1>(paired, x + r * kPageTokens, out(), w.cols);
  }
}

}  // namespace paceline::kernels::avx2
