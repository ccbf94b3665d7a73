// Products of bf16 with a matrix that is small, as attention has them with a page: eight neighbouring outputs at a
// time, whose operands are made once for all rows.
//
// Order of one sum: as in matmul_bf16.cc.
// Bound: vector operations, one for 8 numbers of W and one for 16 products; with up to four rows 24 for 64 numbers of
// W. Next to that the memory's latency: what comes next is asked for ahead, a part for each part that is multiplied.
#include "kernels/neon/page_bf16.h"

#include <arm_neon.h>

#include "kernels/ops.h"

namespace paceline::kernels::neon {
namespace {

constexpr int kOutputs = 8, kPairs = kOutputs / 2;

// 8 columns of all outputs as operands of the instruction.
struct Columns {
  bfloat16x8_t low[kPairs], high[kPairs];
};

inline Columns columns_of(const uint16_t* w, int64_t stride) {
  Columns c;
#pragma GCC unroll 4
  for (int n = 0; n < kPairs; ++n) {
    const auto a = vreinterpretq_u64_u16(vld1q_u16(w + 2 * n * stride));
    const auto b = vreinterpretq_u64_u16(vld1q_u16(w + (2 * n + 1) * stride));
    c.low[n] = vreinterpretq_bf16_u64(vtrn1q_u64(a, b));
    c.high[n] = vreinterpretq_bf16_u64(vtrn2q_u64(a, b));
  }
  return c;
}

inline Columns columns_of(const uint16_t* packed) {
  Columns c;
#pragma GCC unroll 4
  for (int n = 0; n < kPairs; ++n) {
    c.low[n] = vreinterpretq_bf16_u16(vld1q_u16(packed + 16 * n));
    c.high[n] = vreinterpretq_bf16_u16(vld1q_u16(packed + 16 * n + 8));
  }
  return c;
}

inline void keep(const Columns& c, uint16_t* packed) {
#pragma GCC unroll 4
  for (int n = 0; n < kPairs; ++n) {
    vst1q_u16(packed + 16 * n, vreinterpretq_u16_bf16(c.low[n]));
    vst1q_u16(packed + 16 * n + 8, vreinterpretq_u16_bf16(c.high[n]));
  }
}

// Sums of MP pairs of rows with eight outputs.
template <int MP>
struct Sums {
  float32x4_t low[kPairs][MP], high[kPairs][MP];

  Sums() {
    for (int n = 0; n < kPairs; ++n)
      for (int m = 0; m < MP; ++m) low[n][m] = high[n][m] = vdupq_n_f32(0);
  }
  [[gnu::always_inline]] void add(const Columns& c, const uint16_t* x, int64_t x_stride) {
#pragma GCC unroll 2
    for (int m = 0; m < MP; ++m) {
      const auto x0 = vreinterpretq_bf16_u16(vld1q_u16(x + m * x_stride));
      const auto x1 = vreinterpretq_bf16_u16(vld1q_u16(x + m * x_stride + 8));
#pragma GCC unroll 4
      for (int n = 0; n < kPairs; ++n) {
        low[n][m] = vbfmmlaq_f32(low[n][m], x0, c.low[n]);
        high[n][m] = vbfmmlaq_f32(high[n][m], x1, c.high[n]);
      }
    }
  }
  // rows: those that there are of the 2 * MP.
  [[gnu::always_inline]] void store(float* y, int64_t ldy, int32_t rows) const {
#pragma GCC unroll 2
    for (int m = 0; m < MP; ++m) {
      float32x4_t sums[kPairs];
      for (int n = 0; n < kPairs; ++n) sums[n] = vaddq_f32(low[n][m], high[n][m]);
      float* row = y + 2 * m * ldy;
      vst1q_f32(row, vcombine_f32(vget_low_f32(sums[0]), vget_low_f32(sums[1])));
      vst1q_f32(row + 4, vcombine_f32(vget_low_f32(sums[2]), vget_low_f32(sums[3])));
      if (2 * m + 1 >= rows) return;
      vst1q_f32(row + ldy, vcombine_f32(vget_high_f32(sums[0]), vget_high_f32(sums[1])));
      vst1q_f32(row + ldy + 4, vcombine_f32(vget_high_f32(sums[2]), vget_high_f32(sums[3])));
    }
  }
};

struct Tile {
  const uint16_t* w;
  const char* ahead;  // as many bytes
  int64_t stride;
  const uint16_t* x;  // row pairs
  int64_t x_stride;
  int32_t cols;
  int32_t rows;
  float* y;
  int64_t ldy;
};

// The first 2 * MP rows, from W; operands are kept for those that follow.
template <int MP, bool kKeeps>
[[gnu::noinline]] void first_rows(const Tile& t, uint16_t* packed) {
  Sums<MP> sums;
  for (int32_t k = 0; k < t.cols; k += 8) {
    const Columns c = columns_of(t.w + k, t.stride);
    __builtin_prefetch(t.ahead + 16 * k, 0, 2);
    __builtin_prefetch(t.ahead + 16 * k + 64, 0, 2);
    if (kKeeps) keep(c, packed + static_cast<int64_t>(k) * kOutputs);
    sums.add(c, t.x + 2 * k, t.x_stride);
  }
  sums.store(t.y, t.ldy, t.rows);
}

template <int MP>
[[gnu::noinline]] void more_rows(const Tile& t, const uint16_t* packed) {
  Sums<MP> sums;
  for (int32_t k = 0; k < t.cols; k += 8)
    sums.add(columns_of(packed + static_cast<int64_t>(k) * kOutputs), t.x + 2 * k, t.x_stride);
  sums.store(t.y, t.ldy, t.rows);
}

}  // namespace

int32_t page_bf16(const Matrix& w, const void* ahead, const Act& x, float* y, int64_t ldy, int32_t n_begin,
                  int32_t n_end) {
  if (w.cols % 8 != 0 || w.cols > kPageColumns) return n_begin;
  uint16_t packed[kOutputs * kPageColumns];
  const int32_t rows = x.shape.rows;
  const auto* next = static_cast<const uint16_t*>(ahead == nullptr ? w.values : ahead);
  Tile first{nullptr, nullptr, w.stride(), static_cast<const uint16_t*>(x.bytes), int64_t{w.cols} * 2, w.cols,
             rows,    nullptr, ldy};
  int32_t n = n_begin;
  for (; n + kOutputs <= n_end; n += kOutputs) {
    first.w = static_cast<const uint16_t*>(w.values) + n * first.stride;
    first.ahead = reinterpret_cast<const char*>(next + n * first.stride);
    first.y = y + n;
    if (rows <= 2) {
      first_rows<1, false>(first, nullptr);
    } else if (rows <= 4) {
      first_rows<2, false>(first, nullptr);
    } else {
      first_rows<2, true>(first, packed);
      Tile more = first;
      for (int32_t row = 4; row < rows; row += 4) {
        more.x += 2 * more.x_stride;
        more.y += 4 * ldy;
        more.rows = rows - row;
        if (more.rows > 2)
          more_rows<2>(more, packed);
        else
          more_rows<1>(more, packed);
      }
    }
  }
  return n;
}

// Squares of eight, in three steps of eight operations each.
void turn_page_bf16(const uint16_t* from, int64_t stride, int32_t dim, uint16_t* to) {
  for (int32_t t = 0; t < kPageTokens; t += 8)
    for (int32_t k = 0; k < dim; k += 8) {
      uint16x8_t rows[8];
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) rows[i] = vld1q_u16(from + (t + i) * stride + k);
      // Tokens 0 4, 1 5, 2 6, 3 7 side by side; then 0 2 4 6 and 1 3 5 7; then all.
      uint16x8_t twos[8], fours[8];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        twos[2 * i] = vzip1q_u16(rows[i], rows[i + 4]);
        twos[2 * i + 1] = vzip2q_u16(rows[i], rows[i + 4]);
      }
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        fours[2 * i] = vzip1q_u16(twos[i], twos[i + 4]);
        fours[2 * i + 1] = vzip2q_u16(twos[i], twos[i + 4]);
      }
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        vst1q_u16(to + (k + 2 * i) * int64_t{kPageTokens} + t, vzip1q_u16(fours[i], fours[i + 4]));
        vst1q_u16(to + (k + 2 * i + 1) * int64_t{kPageTokens} + t, vzip2q_u16(fours[i], fours[i + 4]));
      }
    }
}

}  // namespace paceline::kernels::neon
