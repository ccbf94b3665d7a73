// Attention's products in codes. All sums are exact.
//
// Scores: the product of unsigned and signed bytes, |w| times x with w's sign; two of them fit 16 bits, since codes are
// never -128. Four operations per 32 products.
// Values: shares have all eight bits, so that two products do not fit 16: 32 columns of a page at a time are
// interleaved once for all rows, codes of two tokens as the upper halves of 16 bits side by side, and multiplied in 16
// bits; 256 times a page's sum fits 32 bits. Two operations per 16 products. Bound by arithmetic wherever more than two
// queries share a head.
#include "kernels/avx2/codes.h"

#include <immintrin.h>

#include <cstring>

#include "kernels/cpu_products.h"
#include "kernels/lanes/ahead.h"
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
void score_rows(const CodeRows& w, int32_t first, const int8_t* x, lanes::Ahead& ahead, int32_t* y) {
  for (int32_t token = first; token < first + kBlockTokens; token += 2) {
    ahead.ask();
    score_tile<MR>(w, x, token, y);
  }
}

constexpr int32_t kCodeColumns = 32;

// [four tokens][its first and third, second and fourth][columns]: lane i of vector j, half h: column 16 h + 4 j + i of
// two tokens, times 256.
struct Paired {
  __m256i of[kPageTokens / 4][2][4];
};

void pair_tokens(const CodeRows& w, int32_t k, lanes::Ahead& ahead, Paired& out) {
  const __m256i high = _mm256_set1_epi16(static_cast<int16_t>(0xff00));
  for (int32_t four = 0; four < kPageTokens / 4; ++four) {
    ahead.ask();
    const int8_t* codes = w.codes + 4 * four * w.stride + k;
    const __m256i a = load_codes(codes), b = load_codes(codes + w.stride);
    const __m256i c = load_codes(codes + 2 * w.stride), d = load_codes(codes + 3 * w.stride);
    const __m256i ab_low = _mm256_unpacklo_epi8(a, b), ab_high = _mm256_unpackhi_epi8(a, b);
    const __m256i cd_low = _mm256_unpacklo_epi8(c, d), cd_high = _mm256_unpackhi_epi8(c, d);
    const __m256i all[4] = {_mm256_unpacklo_epi16(ab_low, cd_low), _mm256_unpackhi_epi16(ab_low, cd_low),
                            _mm256_unpacklo_epi16(ab_high, cd_high), _mm256_unpackhi_epi16(ab_high, cd_high)};
    for (int j = 0; j < 4; ++j) {
      out.of[four][0][j] = _mm256_slli_epi16(all[j], 8);
      out.of[four][1][j] = _mm256_and_si256(all[j], high);
    }
  }
}

// Shares in 16 bits, of each four tokens the first and the third, then the others.
void widen_shares(const uint8_t* x, int32_t rows, uint16_t* out) {
  const __m128i order = _mm_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15);
  for (int64_t t = 0; t < int64_t{rows} * kPageTokens; t += 16) {
    const __m128i shares = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x + t));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + t), _mm256_cvtepu8_epi16(_mm_shuffle_epi8(shares, order)));
  }
}

__m256i two_shares(const uint16_t* x) {
  int32_t both;
  std::memcpy(&both, x, sizeof both);
  return _mm256_set1_epi32(both);
}

template <int MR>
void mix_tile(const Paired& w, const uint16_t* x, int32_t* y, int64_t ldy) {
  __m256i sums[MR][4];
  for (auto& row : sums)
    for (auto& sum : row) sum = _mm256_setzero_si256();
  for (int32_t four = 0; four < kPageTokens / 4; ++four)
    for (int pair = 0; pair < 2; ++pair)
      for (int m = 0; m < MR; ++m) {
        const __m256i shares = two_shares(x + m * kPageTokens + 4 * four + 2 * pair);
        for (int j = 0; j < 4; ++j)
          sums[m][j] = _mm256_add_epi32(sums[m][j], _mm256_madd_epi16(w.of[four][pair][j], shares));
      }
  for (int m = 0; m < MR; ++m) {
    auto* out = reinterpret_cast<__m256i*>(y + m * ldy);
    for (auto& sum : sums[m]) sum = _mm256_srai_epi32(sum, 8);
    for (int j = 0; j < 4; j += 2) {
      _mm256_storeu_si256(out + j / 2, _mm256_permute2x128_si256(sums[m][j], sums[m][j + 1], 0x20));
      _mm256_storeu_si256(out + 2 + j / 2, _mm256_permute2x128_si256(sums[m][j], sums[m][j + 1], 0x31));
    }
  }
}

}  // namespace

void code_scores(const CodeRows& w, const int8_t* x, const int32_t* sums, int32_t rows, int32_t* y) {
  if (w.cols % 32 != 0) return portable::code_scores(w, x, sums, rows, y);
  lanes::Ahead ahead(w.ahead, w.stride * kPageTokens, kPageTokens / 2 * lanes::row_tiles(rows));
  for (int32_t first = 0; first < kPageTokens; first += kBlockTokens) {
    int32_t r = 0;
    const auto some = [&]<int MR>() {
      for (; r + MR <= rows; r += MR)
        score_rows<MR>(w, first, x + static_cast<int64_t>(r) * w.cols, ahead, y + r * kPageTokens);
    };
    some.template operator()<4>();
    some.template operator()<2>();
    some.template operator()<1>();
  }
}

void code_mix(const CodeRows& w, const uint8_t* x, int32_t rows, int32_t* y) {
  if (w.cols % kCodeColumns != 0 || rows > kBlockQueries) return portable::code_mix(w, x, rows, y);
  lanes::Ahead ahead(w.ahead, w.stride * kPageTokens, w.cols / kCodeColumns * (kPageTokens / 4 + rows / 2));
  uint16_t shares[kBlockQueries * kPageTokens];
  widen_shares(x, rows, shares);
  Paired paired;
  for (int32_t k = 0; k < w.cols; k += kCodeColumns) {
    pair_tokens(w, k, ahead, paired);
    int32_t r = 0;
    const auto out = [&] { return y + static_cast<int64_t>(r) * w.cols + k; };
    for (; r + 2 <= rows; r += 2) {
      ahead.ask();
      mix_tile<2>(paired, shares + r * kPageTokens, out(), w.cols);
    }
    for (; r < rows; ++r) mix_tile<1>(paired, shares + r * kPageTokens, out(), w.cols);
  }
}

}  // namespace paceline::kernels::avx2
