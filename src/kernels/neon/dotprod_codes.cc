// Attention's products in codes, by dot products of four bytes. All sums are exact.
//
// Scores: of two tokens eight numbers each, as they lie; sums are folded once at the end.
// Values: of two numbers eight tokens each. Codes lose their sign, since there is no product of signed and unsigned
// bytes: 128 times a row's shares is taken away at the end. Where the same codes are keys and values they lie for
// scores, and are turned once for all rows. One operation per 16 products. Bound by arithmetic.
#include <arm_neon.h>

#include <numeric>

#include "kernels/cpu_products.h"
#include "kernels/neon/codes.h"
#include "kernels/neon/codes_order.h"
#include "kernels/ops.h"
#include "kernels/portable/codes.h"

namespace paceline::kernels::neon::dotprod {
namespace {

// Rows whose eights stand twice, one for each half of an operand.
template <class T>
void double_rows(const T* x, int32_t rows, int32_t cols, int8_t* out) {
  for (int64_t k = 0; k < int64_t{rows} * cols; k += 8, out += kCodeStep)
    vst1q_s8(out, vreinterpretq_s8_s64(vld1q_dup_s64(reinterpret_cast<const int64_t*>(x + k))));
}

// Eight tokens times MR rows.
template <int MR>
void score_tile(const CodeRows& w, const int8_t* x, int32_t token, int32_t* y) {
  int32x4_t sums[MR][4];
  for (auto& row : sums)
    for (auto& sum : row) sum = vdupq_n_s32(0);
  const int8_t* codes = w.codes + token * w.stride;
  const int8_t* ahead = w.ahead == nullptr ? w.codes : w.ahead;
  for (int32_t k = 0; k < w.cols; k += 8) {
    if (k % 16 == 0) fetch_line_pair(ahead + token * w.stride + 8 * k);
    int8x16_t tokens[4];
#pragma GCC unroll 4
    for (int t = 0; t < 4; ++t) tokens[t] = vld1q_s8(codes + 2 * t * w.stride + 2 * k);
#pragma GCC unroll 4
    for (int m = 0; m < MR; ++m) {
      const int8x16_t row = vld1q_s8(x + (m * w.cols + k) * 2);
#pragma GCC unroll 4
      for (int t = 0; t < 4; ++t) sums[m][t] = vdotq_s32(sums[m][t], tokens[t], row);
    }
  }
  for (int m = 0; m < MR; ++m)
    for (int t = 0; t < 4; t += 2)
      vst1q_s32(y + m * kPageTokens + token + 2 * t, vpaddq_s32(sums[m][t], sums[m][t + 1]));
}

// Columns [k, k + 8) of a page in eights times MR rows; y of cols numbers a row. less: of each row 128 times its
// shares. kUnsigned: the codes have lost their sign.
template <bool kUnsigned, int MR>
void mix_tile(const CodeRows& w, int32_t k, const int8_t* x, const uint32_t* less, int32_t* y) {
  const uint8x16_t sign = vdupq_n_u8(0x80);
  uint32x4_t sums[MR][4];
  for (auto& row : sums)
    for (auto& sum : row) sum = vdupq_n_u32(0);
  const int8_t* ahead = w.ahead == nullptr ? w.codes : w.ahead;
  for (int32_t group = 0; group < kPageTokens / 8; ++group) {
    if (group % 2 == 0) fetch_line_pair(ahead + kPageTokens * k + 64 * group);
    uint8x16_t columns[4];
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) {
      const int8x16_t codes = vld1q_s8(w.codes + kPageTokens * (k & ~15) + 128 * group + (k % 16) * 8 + c * kCodeStep);
      columns[c] = kUnsigned ? vreinterpretq_u8_s8(codes) : veorq_u8(vreinterpretq_u8_s8(codes), sign);
    }
#pragma GCC unroll 4
    for (int m = 0; m < MR; ++m) {
      const uint8x16_t row = vreinterpretq_u8_s8(vld1q_s8(x + m * 2 * kPageTokens + group * kCodeStep));
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) sums[m][c] = vdotq_u32(sums[m][c], columns[c], row);
    }
  }
  for (int m = 0; m < MR; ++m) {
    const uint32x4_t excess = vdupq_n_u32(less[m]);
    const uint32x4_t low = vsubq_u32(vpaddq_u32(sums[m][0], sums[m][1]), excess);
    const uint32x4_t high = vsubq_u32(vpaddq_u32(sums[m][2], sums[m][3]), excess);
    vst1q_s32(y + m * int64_t{w.cols}, vreinterpretq_s32_u32(low));
    vst1q_s32(y + m * int64_t{w.cols} + 4, vreinterpretq_s32_u32(high));
  }
}

bool can_take(const CodeRows& w, int32_t rows) {
  return w.order != CodeOrder::rows && w.cols % 16 == 0 && w.cols <= kMaxHeadDim && rows <= kBlockQueries;
}

}  // namespace

void code_scores(const CodeRows& w, const int8_t* x, const int32_t* sums, int32_t rows, int32_t* y) {
  if (!can_take(w, rows)) return portable::code_scores(w, x, sums, rows, y);
  int8_t doubled[2 * kBlockQueries * kMaxHeadDim];
  double_rows(x, rows, w.cols, doubled);
  // Tokens that stay in the first cache while all rows pass over them.
  constexpr int32_t kBlockTokens = 16;
  for (int32_t first = 0; first < kPageTokens; first += kBlockTokens) {
    int32_t r = 0;
    const auto some = [&]<int MR>() {
      for (; r + MR <= rows; r += MR)
        for (int32_t token = first; token < first + kBlockTokens; token += 8)
          score_tile<MR>(w, doubled + static_cast<int64_t>(r) * w.cols * 2, token, y + r * kPageTokens);
    };
    some.template operator()<4>();
    some.template operator()<2>();
    some.template operator()<1>();
  }
}

void code_mix(const CodeRows& w, const uint8_t* x, int32_t rows, int32_t* y) {
  if (!can_take(w, rows)) return portable::code_mix(w, x, rows, y);
  int8_t turned[kPageTokens * kMaxHeadDim], doubled[2 * kBlockQueries * kPageTokens];
  uint32_t less[kBlockQueries];
  double_rows(x, rows, kPageTokens, doubled);
  for (int32_t r = 0; r < rows; ++r)
    less[r] = 128 * std::accumulate(x + r * kPageTokens, x + (r + 1) * kPageTokens, uint32_t{0});
  const auto run = [&]<bool kUnsigned>(const CodeRows& eights) {
    for (int32_t k = 0; k < w.cols; k += 8) {
      int32_t r = 0;
      const auto some = [&]<int MR>() {
        for (; r + MR <= rows; r += MR)
          mix_tile<kUnsigned, MR>(eights, k, doubled + r * 2 * kPageTokens, less + r,
                                  y + static_cast<int64_t>(r) * w.cols + k);
      };
      some.template operator()<4>();
      some.template operator()<2>();
      some.template operator()<1>();
    }
  };
  if (w.order == CodeOrder::eights) return run.template operator()<false>(w);
  turn_to_eights<0x80>(w, turned);
  run.template operator()<true>({turned, w.cols, w.cols, nullptr, CodeOrder::eights});
}

}  // namespace paceline::kernels::neon::dotprod
