// Attention's products in codes, by the 2x8 · 8x2 matrix instructions of bytes. All sums are exact.
//
// Scores: two tokens side by side are one operand (one operation per 16 codes, for up to four rows), two rows the
// other. Values: eight tokens of 16 columns are turned so that a column's eight codes lie side by side (24 operations,
// once for all rows). One operation per 32 products, which is the bound from four rows on.
#include "kernels/neon/codes.h"

#include <arm_neon.h>

#include "kernels/cpu_products.h"
#include "kernels/ops.h"

namespace paceline::kernels::neon {
namespace {

constexpr int32_t kStep = 16;  // codes of a vector

// What is wanted after this, a part for each part that is multiplied: all at once would wait for each other.
inline void fetch(const void* ahead) {
  __builtin_prefetch(ahead, 0, 2);
  __builtin_prefetch(static_cast<const char*>(ahead) + 64, 0, 2);
}

template <class T>
int8x16_t pair_of(const T* low, const T* high) {
  return vcombine_s8(vld1_s8(reinterpret_cast<const int8_t*>(low)), vld1_s8(reinterpret_cast<const int8_t*>(high)));
}

// Rows in pairs, 8 codes of each in turn; an odd last one is its own partner.
template <class T>
void pair_rows(const T* x, int32_t rows, int32_t cols, int8_t* out) {
  for (int32_t r = 0; r < rows; r += 2) {
    const T *first = x + static_cast<int64_t>(r) * cols, *second = r + 1 < rows ? first + cols : first;
    for (int32_t k = 0; k < cols; k += 8, out += kStep) vst1q_s8(out, pair_of(first + k, second + k));
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
  for (int32_t k = 0; k < w.cols; k += kStep) {
    fetch(ahead + token * w.stride + 8 * k);
    int8x16_t low[4], high[4];
#pragma GCC unroll 4
    for (int t = 0; t < 4; ++t) {
      const auto a = vreinterpretq_u64_s8(vld1q_s8(codes + 2 * t * w.stride + k));
      const auto b = vreinterpretq_u64_s8(vld1q_s8(codes + (2 * t + 1) * w.stride + k));
      low[t] = vreinterpretq_s8_u64(vtrn1q_u64(a, b));
      high[t] = vreinterpretq_s8_u64(vtrn2q_u64(a, b));
    }
#pragma GCC unroll 2
    for (int m = 0; m < MP; ++m) {
      const int8_t* x = pairs + (int64_t{m} * w.cols + k) * 2;
      const int8x16_t x0 = vld1q_s8(x), x1 = vld1q_s8(x + kStep);
#pragma GCC unroll 4
      for (int t = 0; t < 4; ++t) sums[m][t] = vmmlaq_s32(sums[m][t], x0, low[t]);
#pragma GCC unroll 4
      for (int t = 0; t < 4; ++t) sums[m][t] = vmmlaq_s32(sums[m][t], x1, high[t]);
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

// A page turned, read from its first byte to its last: 8 tokens of 2 columns to a vector, [token group][column pair].
void turn(const CodeRows& w, int8_t* out) {
  const int8_t* ahead = w.ahead == nullptr ? w.codes : w.ahead;
  for (int32_t i = 0; i < kPageTokens / 8 * w.cols; i += kStep, out += 8 * kStep) {
    const int32_t group = i / w.cols, k = i % w.cols;
    fetch(ahead + 8 * group * w.stride + 8 * k);
    int8x16_t t[8];
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) t[j] = vld1q_s8(w.codes + (8 * group + j) * w.stride + k);
    // Tokens 0 4, 2 6, 1 5, 3 7; then 0 2 4 6 and 1 3 5 7; then all.
    const int8x16_t a0 = vzip1q_s8(t[0], t[4]), a1 = vzip2q_s8(t[0], t[4]), b0 = vzip1q_s8(t[2], t[6]),
                    b1 = vzip2q_s8(t[2], t[6]), c0 = vzip1q_s8(t[1], t[5]), c1 = vzip2q_s8(t[1], t[5]),
                    d0 = vzip1q_s8(t[3], t[7]), d1 = vzip2q_s8(t[3], t[7]);
    const int8x16_t even[4] = {vzip1q_s8(a0, b0), vzip2q_s8(a0, b0), vzip1q_s8(a1, b1), vzip2q_s8(a1, b1)};
    const int8x16_t odd[4] = {vzip1q_s8(c0, d0), vzip2q_s8(c0, d0), vzip1q_s8(c1, d1), vzip2q_s8(c1, d1)};
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      vst1q_s8(out + 2 * j * kStep, vzip1q_s8(even[j], odd[j]));
      vst1q_s8(out + (2 * j + 1) * kStep, vzip2q_s8(even[j], odd[j]));
    }
  }
}

// 16 columns times MP pairs of rows; y of cols numbers a row.
template <int MP>
[[gnu::noinline]] void mix_tile(const int8_t* turned, const int8_t* pairs, int32_t rows, int32_t cols, int32_t* y) {
  int32x4_t sums[MP][8];
  for (auto& row : sums)
    for (auto& sum : row) sum = vdupq_n_s32(0);
  for (int32_t group = 0; group < kPageTokens / 8; ++group) {
    uint8x16_t x[MP];
#pragma GCC unroll 2
    for (int m = 0; m < MP; ++m) x[m] = vreinterpretq_u8_s8(vld1q_s8(pairs + m * 2 * kPageTokens + group * kStep));
#pragma GCC unroll 8
    for (int c = 0; c < 8; ++c) {
      const int8x16_t columns = vld1q_s8(turned + int64_t{group} * 8 * cols + c * kStep);
#pragma GCC unroll 2
      for (int m = 0; m < MP; ++m) sums[m][c] = vusmmlaq_s32(sums[m][c], x[m], columns);
    }
  }
  for (int m = 0; m < MP; ++m)
    for (int r = 0; r < 2 && 2 * m + r < rows; ++r)
      for (int c = 0; c < 8; c += 2)
        vst1q_s32(y + (2 * m + r) * int64_t{cols} + 2 * c,
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

}  // namespace

void code_scores(const CodeRows& w, const int8_t* x, const int32_t* sums, int32_t rows, int32_t* y) {
  if (w.cols % kStep != 0 || w.cols > kMaxHeadDim || rows > kBlockQueries)
    return dotprod::code_scores(w, x, sums, rows, y);
  int8_t pairs[kBlockQueries * kMaxHeadDim];
  pair_rows(x, rows, w.cols, pairs);
  for (int32_t token = 0; token < kPageTokens; token += 8)
    over_rows(
        rows, [&](int32_t r) { score_tile<2>(w, pairs + r * int64_t{w.cols}, rows - r, token, y + r * kPageTokens); },
        [&](int32_t r) { score_tile<1>(w, pairs + r * int64_t{w.cols}, rows - r, token, y + r * kPageTokens); });
}

void code_mix(const CodeRows& w, const uint8_t* x, int32_t rows, int32_t* y) {
  if (w.cols % kStep != 0 || w.cols > kMaxHeadDim || rows > kBlockQueries) return dotprod::code_mix(w, x, rows, y);
  int8_t pairs[kBlockQueries * kPageTokens], turned[kPageTokens * kMaxHeadDim];
  pair_rows(x, rows, kPageTokens, pairs);
  turn(w, turned);
  for (int32_t k = 0; k < w.cols; k += kStep) {
    const auto out = [&](int32_t r) { return y + static_cast<int64_t>(r) * w.cols + k; };
    over_rows(
        rows, [&](int32_t r) { mix_tile<2>(turned + 8 * k, pairs + r * kPageTokens, rows - r, w.cols, out(r)); },
        [&](int32_t r) { mix_tile<1>(turned + 8 * k, pairs + r * kPageTokens, rows - r, w.cols, out(r)); });
  }
}

}  // namespace paceline::kernels::neon
