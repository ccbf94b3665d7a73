// Attention's products in codes, by dot products of four bytes. All sums are exact.
//
// Scores: a token's codes as they lie; one operation per 16 products.
// Values: four tokens of 16 columns are turned so that a column's four codes lie side by side (8 operations, once for
// up to four rows), and lose their sign, since there is no product of signed and unsigned bytes: 128 times a row's
// shares is taken away at the end. One operation per 16 products. Bound by arithmetic.
#include <arm_neon.h>

#include "kernels/neon/codes.h"
#include "kernels/ops.h"
#include "kernels/portable/codes.h"

namespace paceline::kernels::neon::dotprod {
namespace {

constexpr int32_t kStep = 16;  // codes of a vector

// Four tokens times MR rows.
template <int MR>
void score_tile(const CodeRows& w, const int8_t* x, int32_t token, int32_t* y) {
  int32x4_t sums[MR][4];
  for (auto& row : sums)
    for (auto& sum : row) sum = vdupq_n_s32(0);
  const int8_t* codes = w.codes + token * w.stride;
  for (int32_t k = 0; k < w.cols; k += kStep) {
    int8x16_t tokens[4];
#pragma GCC unroll 4
    for (int t = 0; t < 4; ++t) tokens[t] = vld1q_s8(codes + t * w.stride + k);
#pragma GCC unroll 4
    for (int m = 0; m < MR; ++m) {
      const int8x16_t row = vld1q_s8(x + m * w.cols + k);
#pragma GCC unroll 4
      for (int t = 0; t < 4; ++t) sums[m][t] = vdotq_s32(sums[m][t], tokens[t], row);
    }
  }
  for (int m = 0; m < MR; ++m)
    vst1q_s32(y + m * kPageTokens + token,
              vpaddq_s32(vpaddq_s32(sums[m][0], sums[m][1]), vpaddq_s32(sums[m][2], sums[m][3])));
}

// 16 columns of a page, without their sign: [4 tokens][4 columns] to a vector, [token quad][column quad].
using Turned = uint8x16_t[kPageTokens / 4][4];

void turn(const CodeRows& w, int32_t k, Turned& out) {
  const uint8x16_t sign = vdupq_n_u8(0x80);
  for (int32_t quad = 0; quad < kPageTokens / 4; ++quad) {
    uint8x16_t t[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
      t[i] = veorq_u8(vreinterpretq_u8_s8(vld1q_s8(w.codes + (4 * quad + i) * w.stride + k)), sign);
    const auto low01 = vreinterpretq_u16_u8(vzip1q_u8(t[0], t[1])), low23 = vreinterpretq_u16_u8(vzip1q_u8(t[2], t[3]));
    const auto high01 = vreinterpretq_u16_u8(vzip2q_u8(t[0], t[1]));
    const auto high23 = vreinterpretq_u16_u8(vzip2q_u8(t[2], t[3]));
    out[quad][0] = vreinterpretq_u8_u16(vzip1q_u16(low01, low23));
    out[quad][1] = vreinterpretq_u8_u16(vzip2q_u16(low01, low23));
    out[quad][2] = vreinterpretq_u8_u16(vzip1q_u16(high01, high23));
    out[quad][3] = vreinterpretq_u8_u16(vzip2q_u16(high01, high23));
  }
}

template <int MR>
void mix_tile(const Turned& w, const uint8_t* x, int32_t* y, int64_t ldy) {
  uint32x4_t sums[MR][4];
  for (auto& row : sums)
    for (auto& sum : row) sum = vdupq_n_u32(0);
  uint32x4_t shares[MR];
  for (auto& row : shares) row = vdupq_n_u32(0);
  const auto add = [&]<int kLane>(int32_t quad, const uint8x16_t(&rows)[MR]) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int m = 0; m < MR; ++m)
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) sums[m][c] = vdotq_laneq_u32(sums[m][c], w[quad + kLane][c], rows[m], kLane);
  };
  for (int32_t quad = 0; quad < kPageTokens / 4; quad += 4) {
    uint8x16_t rows[MR];
    for (int m = 0; m < MR; ++m) {
      rows[m] = vld1q_u8(x + m * kPageTokens + 4 * quad);
      shares[m] = vdotq_u32(shares[m], rows[m], vdupq_n_u8(128));
    }
    add.template operator()<0>(quad, rows);
    add.template operator()<1>(quad, rows);
    add.template operator()<2>(quad, rows);
    add.template operator()<3>(quad, rows);
  }
  for (int m = 0; m < MR; ++m) {
    const uint32x4_t less = vdupq_n_u32(vaddvq_u32(shares[m]));
    for (int c = 0; c < 4; ++c) vst1q_s32(y + m * ldy + 4 * c, vreinterpretq_s32_u32(vsubq_u32(sums[m][c], less)));
  }
}

}  // namespace

void code_scores(const CodeRows& w, const int8_t* x, const int32_t* sums, int32_t rows, int32_t* y) {
  if (w.cols % kStep != 0) return portable::code_scores(w, x, sums, rows, y);
  // Tokens that stay in the first cache while all rows pass over them.
  constexpr int32_t kBlockTokens = 16;
  for (int32_t first = 0; first < kPageTokens; first += kBlockTokens) {
    int32_t r = 0;
    const auto some = [&]<int MR>() {
      for (; r + MR <= rows; r += MR)
        for (int32_t token = first; token < first + kBlockTokens; token += 4)
          score_tile<MR>(w, x + static_cast<int64_t>(r) * w.cols, token, y + r * kPageTokens);
    };
    some.template operator()<4>();
    some.template operator()<2>();
    some.template operator()<1>();
  }
}

void code_mix(const CodeRows& w, const uint8_t* x, int32_t rows, int32_t* y) {
  if (w.cols % kStep != 0) return portable::code_mix(w, x, rows, y);
  for (int32_t k = 0; k < w.cols; k += kStep) {
    Turned turned;
    turn(w, k, turned);
    int32_t r = 0;
    const auto some = [&]<int MR>() {
      for (; r + MR <= rows; r += MR)
        mix_tile<MR>(turned, x + r * kPageTokens, y + static_cast<int64_t>(r) * w.cols + k, w.cols);
    };
    some.template operator()<4>();
    some.template operator()<2>();
    some.template operator()<1>();
  }
}

}  // namespace paceline::kernels::neon::dotprod
