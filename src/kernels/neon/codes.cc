// Attention's products in codes, by the 2x8 · 8x2 matrix instructions of bytes. All sums are exact.
//
// Pages lie as these instructions want their operands: two tokens' eight numbers for scores, two numbers of eight
// tokens for values. Where the same codes are keys and values they lie for scores, and are turned once for all rows.
// One operation per 32 products, and up to four rows for a load: bound by arithmetic from four rows on, else by bytes.
#include "kernels/neon/codes.h"

#include <arm_neon.h>

#include "kernels/cpu_products.h"
#include "kernels/neon/codes_order.h"
#include "kernels/ops.h"
#include "kernels/portable/codes.h"

namespace paceline::kernels::neon {
namespace {

template <class T>
int8x16_t pair_of(const T* low, const T* high) {
  return vcombine_s8(vld1_s8(reinterpret_cast<const int8_t*>(low)), vld1_s8(reinterpret_cast<const int8_t*>(high)));
}

// Rows in pairs, 8 codes of each in turn; an odd last one is its own partner.
template <class T>
void pair_rows(const T* x, int32_t rows, int32_t cols, int8_t* out) {
  for (int32_t r = 0; r < rows; r += 2) {
    const T *first = x + static_cast<int64_t>(r) * cols, *second = r + 1 < rows ? first + cols : first;
    for (int32_t k = 0; k < cols; k += 8, out += kCodeStep) vst1q_s8(out, pair_of(first + k, second + k));
  }
}

// Eight tokens times MP pairs of rows.
template <int MP>
[[gnu::noinline]] void score_tile(const CodeRows& w, const int8_t* pairs, int32_t rows, int32_t token, int32_t* y) {
  int32x4_t sums[MP][4];
  for (auto& row : sums)
    for (auto& sum : row) sum = vdupq_n_s32(0);
  const int8_t* codes = w.codes + token * w.stride;
  const int8_t* ahead = w.ahead == nullptr ? w.codes : w.ahead;
  for (int32_t k = 0; k < w.cols; k += 16) {
    fetch_line_pair(ahead + token * w.stride + 8 * k);
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      int8x16_t tokens[4];
#pragma GCC unroll 4
      for (int t = 0; t < 4; ++t) tokens[t] = vld1q_s8(codes + 2 * t * w.stride + 2 * k + half * kCodeStep);
#pragma GCC unroll 2
      for (int m = 0; m < MP; ++m) {
        const int8x16_t x = vld1q_s8(pairs + (int64_t{m} * w.cols + k) * 2 + half * kCodeStep);
#pragma GCC unroll 4
        for (int t = 0; t < 4; ++t) sums[m][t] = vmmlaq_s32(sums[m][t], x, tokens[t]);
      }
    }
  }
  for (int m = 0; m < MP; ++m)
    for (int r = 0; r < 2 && 2 * m + r < rows; ++r) {
      int32_t* out = y + (2 * m + r) * kPageTokens + token;
      const auto half = [&](int t) { return r == 0 ? vget_low_s32(sums[m][t]) : vget_high_s32(sums[m][t]); };
      vst1q_s32(out, vcombine_s32(half(0), half(1)));
      vst1q_s32(out + 4, vcombine_s32(half(2), half(3)));
    }
}

// Columns [k, k + 16) of a page in eights times MP pairs of rows; y of cols numbers a row.
template <int MP>
[[gnu::noinline]] void mix_tile(const CodeRows& w, int32_t k, const int8_t* pairs, int32_t rows, int32_t* y) {
  int32x4_t sums[MP][8];
  for (auto& row : sums)
    for (auto& sum : row) sum = vdupq_n_s32(0);
  const int8_t* ahead = w.ahead == nullptr ? w.codes : w.ahead;
  for (int32_t group = 0; group < kPageTokens / 8; ++group) {
    fetch_line_pair(ahead + kPageTokens * k + 128 * group);
    uint8x16_t x[MP];
#pragma GCC unroll 2
    for (int m = 0; m < MP; ++m) x[m] = vreinterpretq_u8_s8(vld1q_s8(pairs + m * 2 * kPageTokens + group * kCodeStep));
#pragma GCC unroll 8
    for (int c = 0; c < 8; ++c) {
      const int8x16_t columns = vld1q_s8(w.codes + kPageTokens * k + 128 * group + c * kCodeStep);
#pragma GCC unroll 2
      for (int m = 0; m < MP; ++m) sums[m][c] = vusmmlaq_s32(sums[m][c], x[m], columns);
    }
  }
  for (int m = 0; m < MP; ++m)
    for (int r = 0; r < 2 && 2 * m + r < rows; ++r)
      for (int c = 0; c < 8; c += 2)
        vst1q_s32(y + (2 * m + r) * int64_t{w.cols} + 2 * c,
                  r == 0 ? vcombine_s32(vget_low_s32(sums[m][c]), vget_low_s32(sums[m][c + 1]))
                         : vcombine_s32(vget_high_s32(sums[m][c]), vget_high_s32(sums[m][c + 1])));
}

// Two pairs of rows at a time, and what is left.
template <class Wide, class Narrow>
void over_rows(int32_t rows, Wide wide, Narrow narrow) {
  for (int32_t r = 0; r < rows; r += 4)
    if (rows - r > 2)
      wide(r);
    else
      narrow(r);
}

bool can_take(const CodeRows& w, int32_t rows) {
  return w.order != CodeOrder::rows && w.cols % 16 == 0 && w.cols <= kMaxHeadDim && rows <= kBlockQueries;
}

}  // namespace

void code_scores(const CodeRows& w, const int8_t* x, const int32_t* sums, int32_t rows, int32_t* y) {
  if (!can_take(w, rows)) return portable::code_scores(w, x, sums, rows, y);
  int8_t pairs[kBlockQueries * kMaxHeadDim];
  pair_rows(x, rows, w.cols, pairs);
  for (int32_t token = 0; token < kPageTokens; token += 8)
    over_rows(
        rows, [&](int32_t r) { score_tile<2>(w, pairs + r * int64_t{w.cols}, rows - r, token, y + r * kPageTokens); },
        [&](int32_t r) { score_tile<1>(w, pairs + r * int64_t{w.cols}, rows - r, token, y + r * kPageTokens); });
}

void code_mix(const CodeRows& w, const uint8_t* x, int32_t rows, int32_t* y) {
  if (!can_take(w, rows)) return portable::code_mix(w, x, rows, y);
  int8_t pairs[kBlockQueries * kPageTokens], turned[kPageTokens * kMaxHeadDim];
  pair_rows(x, rows, kPageTokens, pairs);
  CodeRows eights = w;
  if (w.order == CodeOrder::pairs) {
    turn_to_eights(w, turned);
    eights = {turned, w.cols, w.cols, nullptr, CodeOrder::eights};
  }
  for (int32_t k = 0; k < w.cols; k += 16) {
    const auto out = [&](int32_t r) { return y + static_cast<int64_t>(r) * w.cols + k; };
    over_rows(
        rows, [&](int32_t r) { mix_tile<2>(eights, k, pairs + r * kPageTokens, rows - r, out(r)); },
        [&](int32_t r) { mix_tile<1>(eights, k, pairs + r * kPageTokens, rows - r, out(r)); });
  }
}

}  // namespace paceline::kernels::neon
