// Attention's products in codes, by the dot product of four unsigned and four signed bytes (VPDPBUSD, which does not
// saturate). All sums are exact.
//
// Scores: codes are shifted to unsigned, and 128 Σ x is taken off at the end. With few rows 64 columns of one token and
// one row an instruction, four tokens by four rows at a time; 13 instructions fold four sums of a row. With many rows
// tokens are turned first, so that a lane has four columns of one token, and nothing is folded.
// Values: shares are unsigned as they are. 64 columns of a page at a time are interleaved once for all rows, so that a
// lane has one column of four tokens; then 16 columns of four tokens and one row an instruction, and nothing to fold.
// Bound by arithmetic wherever more than four queries share a head: about 1.4 instructions per 64 products.
#include "kernels/avx512/codes.h"

#include <immintrin.h>

#include <cstring>

#include "kernels/avx2/codes.h"
#include "kernels/avx512/turn.h"
#include "kernels/lanes/ahead.h"
#include "kernels/ops.h"

namespace paceline::kernels::avx512 {
namespace {

using lanes::Ahead;

constexpr int32_t kCodeColumns = 64;

__m512i load_codes(const void* p) { return _mm512_loadu_si512(p); }

// Of each of four vectors the sum of its lanes.
__m128i sums_of(__m512i a, __m512i b, __m512i c, __m512i d) {
  const __m512i ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
  const __m512i cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
  const __m512i all = _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
  const __m256i half = _mm256_add_epi32(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1));
  return _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

// Tokens that stay in the first cache while all rows pass over them.
constexpr int32_t kBlockTokens = 16;

// kBlockTokens tokens times MR rows.
template <int MR>
void score_rows(const CodeRows& w, int32_t first, const int8_t* x, const int32_t* x_sums, Ahead& ahead, int32_t* y) {
  const __m512i sign = _mm512_set1_epi8(-128);
  for (int32_t token = first; token < first + kBlockTokens; token += 4) {
    ahead.ask();
    const int8_t* codes = w.codes + token * w.stride;
    __m512i sums[MR][4];
    for (auto& row : sums)
      for (auto& sum : row) sum = _mm512_setzero_si512();
    for (int32_t k = 0; k < w.cols; k += kCodeColumns) {
      __m512i ws[4];
      for (int i = 0; i < 4; ++i) ws[i] = _mm512_xor_si512(load_codes(codes + i * w.stride + k), sign);
      for (int m = 0; m < MR; ++m) {
        const __m512i xs = load_codes(x + m * w.cols + k);
        for (int i = 0; i < 4; ++i) sums[m][i] = _mm512_dpbusd_epi32(sums[m][i], ws[i], xs);
      }
    }
    for (int m = 0; m < MR; ++m) {
      const __m128i four = sums_of(sums[m][0], sums[m][1], sums[m][2], sums[m][3]);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(y + m * kPageTokens + token),
                       _mm_sub_epi32(four, _mm_set1_epi32(128 * x_sums[m])));
    }
  }
}

// From so many rows on turning tokens costs less than folding sums.
constexpr int32_t kTurningRows = 12;
constexpr int32_t kLanes = 16;

// Two blocks of 16 tokens, [four columns][block][lane].
struct Turned {
  __m512i of[kMaxHeadDim / 4][2];
};

void turn_tokens(const CodeRows& w, int32_t first, Ahead& ahead, Turned& out) {
  const __m512i sign = _mm512_set1_epi8(-128);
  for (int block = 0; block < 2; ++block) {
    const uint8_t* rows[kLanes];
    for (int i = 0; i < kLanes; ++i)
      rows[i] = reinterpret_cast<const uint8_t*>(w.codes) + (first + block * kLanes + i) * w.stride;
    for (int32_t k = 0; k < w.cols; k += kCodeColumns) {
      __m512i units[16];
      turn_rows<4>(rows, k, units);
      ahead.ask();
      for (int u = 0; u < 16; ++u) out.of[k / 4 + u][block] = _mm512_xor_si512(units[u], sign);
    }
  }
}

template <int MR>
void score_turned(const Turned& w, int32_t cols, const int8_t* x, const int32_t* x_sums, int32_t* y) {
  __m512i sums[MR][2];
  for (int m = 0; m < MR; ++m) sums[m][0] = sums[m][1] = _mm512_set1_epi32(-128 * x_sums[m]);
  for (int32_t k = 0; k < cols; k += 4) {
    const __m512i w0 = w.of[k / 4][0], w1 = w.of[k / 4][1];
    for (int m = 0; m < MR; ++m) {
      int32_t four;
      std::memcpy(&four, x + m * cols + k, sizeof four);
      const __m512i xs = _mm512_set1_epi32(four);
      sums[m][0] = _mm512_dpbusd_epi32(sums[m][0], w0, xs);
      sums[m][1] = _mm512_dpbusd_epi32(sums[m][1], w1, xs);
    }
  }
  for (int m = 0; m < MR; ++m)
    for (int block = 0; block < 2; ++block) _mm512_storeu_si512(y + m * kPageTokens + block * kLanes, sums[m][block]);
}

void score_many(const CodeRows& w, const int8_t* x, const int32_t* x_sums, int32_t rows, int32_t* y) {
  constexpr int32_t kTokens = 2 * kLanes;
  Ahead ahead(w.ahead, w.stride * kPageTokens, kPageTokens / kTokens * (2 * w.cols / kCodeColumns + rows / 6));
  Turned turned;
  for (int32_t first = 0; first < kPageTokens; first += kTokens) {
    turn_tokens(w, first, ahead, turned);
    int32_t r = 0;
    const auto some = [&]<int MR>() {
      for (; r + MR <= rows; r += MR) {
        ahead.ask();
        score_turned<MR>(turned, w.cols, x + static_cast<int64_t>(r) * w.cols, x_sums + r, y + r * kPageTokens + first);
      }
    };
    some.template operator()<6>();
    some.template operator()<2>();
    some.template operator()<1>();
  }
}

// [four tokens][16 bytes of each quarter]: lane i of vector j, quarter q: column 16 q + 4 j + i of the four tokens.
struct Interleaved {
  __m512i of[kPageTokens / 4][4];
};

void interleave(const CodeRows& w, int32_t k, Ahead& ahead, Interleaved& out) {
  for (int32_t four = 0; four < kPageTokens / 4; ++four) {
    ahead.ask();
    const int8_t* codes = w.codes + 4 * four * w.stride + k;
    const __m512i a = load_codes(codes), b = load_codes(codes + w.stride);
    const __m512i c = load_codes(codes + 2 * w.stride), d = load_codes(codes + 3 * w.stride);
    const __m512i ab_low = _mm512_unpacklo_epi8(a, b), ab_high = _mm512_unpackhi_epi8(a, b);
    const __m512i cd_low = _mm512_unpacklo_epi8(c, d), cd_high = _mm512_unpackhi_epi8(c, d);
    out.of[four][0] = _mm512_unpacklo_epi16(ab_low, cd_low);
    out.of[four][1] = _mm512_unpackhi_epi16(ab_low, cd_low);
    out.of[four][2] = _mm512_unpacklo_epi16(ab_high, cd_high);
    out.of[four][3] = _mm512_unpackhi_epi16(ab_high, cd_high);
  }
}

// Quarters back in the order of columns.
void store_columns(const __m512i (&sums)[4], int32_t* y) {
  const __m512i a = _mm512_shuffle_i32x4(sums[0], sums[1], 0x44), b = _mm512_shuffle_i32x4(sums[0], sums[1], 0xee);
  const __m512i c = _mm512_shuffle_i32x4(sums[2], sums[3], 0x44), d = _mm512_shuffle_i32x4(sums[2], sums[3], 0xee);
  _mm512_storeu_si512(y, _mm512_shuffle_i32x4(a, c, 0x88));
  _mm512_storeu_si512(y + 16, _mm512_shuffle_i32x4(a, c, 0xdd));
  _mm512_storeu_si512(y + 32, _mm512_shuffle_i32x4(b, d, 0x88));
  _mm512_storeu_si512(y + 48, _mm512_shuffle_i32x4(b, d, 0xdd));
}

template <int MR>
void mix_tile(const Interleaved& w, const uint8_t* x, int32_t* y, int64_t ldy) {
  __m512i sums[MR][4];
  for (auto& row : sums)
    for (auto& sum : row) sum = _mm512_setzero_si512();
  for (int32_t four = 0; four < kPageTokens / 4; ++four) {
    for (int m = 0; m < MR; ++m) {
      int32_t shares;
      std::memcpy(&shares, x + m * kPageTokens + 4 * four, sizeof shares);
      const __m512i all = _mm512_set1_epi32(shares);
      for (int j = 0; j < 4; ++j) sums[m][j] = _mm512_dpbusd_epi32(sums[m][j], all, w.of[four][j]);
    }
  }
  for (int m = 0; m < MR; ++m) store_columns(sums[m], y + m * ldy);
}

}  // namespace

void code_scores(const CodeRows& w, const int8_t* x, const int32_t* sums, int32_t rows, int32_t* y) {
  if (w.cols % kCodeColumns != 0) return avx2::code_scores(w, x, sums, rows, y);
  if (rows >= kTurningRows && w.cols <= kMaxHeadDim) return score_many(w, x, sums, rows, y);
  Ahead ahead(w.ahead, w.stride * kPageTokens, kPageTokens / 4 * lanes::row_tiles(rows));
  for (int32_t first = 0; first < kPageTokens; first += kBlockTokens) {
    int32_t r = 0;
    const auto some = [&]<int MR>() {
      for (; r + MR <= rows; r += MR)
        score_rows<MR>(w, first, x + static_cast<int64_t>(r) * w.cols, sums + r, ahead, y + r * kPageTokens);
    };
    some.template operator()<4>();
    some.template operator()<2>();
    some.template operator()<1>();
  }
}

void code_mix(const CodeRows& w, const uint8_t* x, int32_t rows, int32_t* y) {
  if (w.cols % kCodeColumns != 0) return avx2::code_mix(w, x, rows, y);
  Ahead ahead(w.ahead, w.stride * kPageTokens, w.cols / kCodeColumns * (kPageTokens / 4 + lanes::row_tiles(rows)));
  Interleaved interleaved;
  for (int32_t k = 0; k < w.cols; k += kCodeColumns) {
    interleave(w, k, ahead, interleaved);
    int32_t r = 0;
    const auto some = [&]<int MR>() {
      for (; r + MR <= rows; r += MR) {
        ahead.ask();
        mix_tile<MR>(interleaved, x + r * kPageTokens, y + static_cast<int64_t>(r) * w.cols + k, w.cols);
      }
    };
    some.template operator()<4>();
    some.template operator()<2>();
    some.template operator()<1>();
  }
}

}  // namespace paceline::kernels::avx512
