// y [rows, N] = x [rows, K] · W [N, K]^T, W in E4M3 as matmul_f8.h lays it out, x in bf16, which holds E4M3: the sums
// of matmul_bf16.cc, in their order.
//
// Bound: with few rows the vector units: 16 weights take 9 operations to widen, four of them permutations, and two to
// multiply. With many, a block is widened once for all of them.
#include "kernels/neon/matmul_f8.h"

#include <arm_neon.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "kernels/neon/dotprod.h"

namespace paceline::kernels::neon {
namespace {

constexpr int kPairs = kF8Rows / 2;
constexpr int32_t kFewF8Rows = 4;

constexpr int64_t kScaledEights = 16;  // columns of a scale, by eights

int64_t eights_of(int32_t cols) { return (cols + 7) / 8; }

// Of scales before a block's codes.
int64_t header_bytes(const Matrix& w) {
  if (w.group == 0) return 0;
  const int64_t scales = (w.cols + w.group - 1) / w.group;
  return (scales * int64_t{sizeof(float)} + 63) / 64 * 64;
}

int64_t f8_block_bytes(const Matrix& w) { return header_bytes(w) + eights_of(w.cols) * 8 * kF8Rows; }

// 8 columns of two rows as two operands of 4 columns each.
struct F8Operands {
  bfloat16x8_t low, high;
};

// The magnitudes below 8 have no exponent; they and the next 8, byte by byte. Of larger ones the lower byte is the
// lower half of the code, and the upper one its upper half and a constant.
constexpr uint8_t kSmallLow[16] = {0x00, 0x00, 0x80, 0xc0, 0x00, 0x20, 0x40, 0x60,
                                   0x80, 0x90, 0xa0, 0xb0, 0xc0, 0xd0, 0xe0, 0xf0};
constexpr uint8_t kSmallHigh[16] = {0x00, 0x3b, 0x3b, 0x3b, 0x3c, 0x3c, 0x3c, 0x3c,
                                    0x3c, 0x3c, 0x3c, 0x3c, 0x3c, 0x3c, 0x3c, 0x3c};

[[gnu::always_inline]] inline F8Operands widened(const uint8_t* at) {
  const uint8x16_t x = vld1q_u8(at), magnitude = vandq_u8(x, vdupq_n_u8(0x7f));
  const uint8x16_t lower = vqtbx1q_u8(vshlq_n_u8(x, 4), vld1q_u8(kSmallLow), magnitude);
  const uint8x16_t above = vaddq_u8(vshrq_n_u8(magnitude, 4), vdupq_n_u8(0x3c));
  const uint8x16_t upper = vqtbx1q_u8(above, vld1q_u8(kSmallHigh), magnitude);
  const uint8x16_t signed_upper = vbslq_u8(vdupq_n_u8(0x80), x, upper);
  return {vreinterpretq_bf16_u8(vzip1q_u8(lower, signed_upper)), vreinterpretq_bf16_u8(vzip2q_u8(lower, signed_upper))};
}

struct FromCodes {
  using Element = uint8_t;
  static F8Operands load(const uint8_t* at) { return widened(at); }
};
struct FromWide {
  using Element = uint16_t;
  static F8Operands load(const uint16_t* at) {
    return {vreinterpretq_bf16_u16(vld1q_u16(at)), vreinterpretq_bf16_u16(vld1q_u16(at + 8))};
  }
};

struct F8Rows {
  const uint16_t* x;              // first row pair
  int64_t stride;                 // elements between row pairs
  int64_t eights;                 // of columns
  const float* scales = nullptr;  // of kScaledEights each, or none
};

// low and high += `count` times 8 columns.
template <class Read, int MP>
[[gnu::always_inline]] inline void add_eights(const typename Read::Element* w, const uint16_t* x, int64_t stride,
                                              int64_t count, float32x4_t (&low)[kPairs][MP],
                                              float32x4_t (&high)[kPairs][MP]) {
  for (int64_t i = 0; i < count; ++i, w += 16 * kPairs, x += 16) {
    bfloat16x8_t x0[MP], x1[MP];
#pragma GCC unroll 2
    for (int m = 0; m < MP; ++m) {
      x0[m] = vreinterpretq_bf16_u16(vld1q_u16(x + m * stride));
      x1[m] = vreinterpretq_bf16_u16(vld1q_u16(x + m * stride + 8));
    }
#pragma GCC unroll 4
    for (int n = 0; n < kPairs; ++n) {
      const F8Operands operands = Read::load(w + 16 * n);
#pragma GCC unroll 2
      for (int m = 0; m < MP; ++m) {
        low[n][m] = vbfmmlaq_f32(low[n][m], x0[m], operands.low);
        high[n][m] = vbfmmlaq_f32(high[n][m], x1[m], operands.high);
      }
    }
  }
}

// Tiles [kPairs][MP] of 2x2 results {r0 n0, r0 n1, r1 n0, r1 n1}. Where there are scales, each one's columns are summed
// up for themselves, and what comes of them is added in ascending order.
template <class Read, int MP>
[[gnu::noinline]] void dots_f8(const typename Read::Element* w, const F8Rows& rows, float32x4_t* out) {
  for (int i = 0; i < kPairs * MP; ++i) out[i] = vdupq_n_f32(0);
  const int64_t step = rows.scales == nullptr ? rows.eights : kScaledEights;
  for (int64_t i = 0; i < rows.eights; i += step) {
    float32x4_t low[kPairs][MP], high[kPairs][MP];
#pragma GCC unroll 4
    for (int n = 0; n < kPairs; ++n)
#pragma GCC unroll 2
      for (int m = 0; m < MP; ++m) low[n][m] = high[n][m] = vdupq_n_f32(0);
    const int64_t count = std::min(step, rows.eights - i);
    add_eights<Read, MP>(w + i * 16 * kPairs, rows.x + i * 16, rows.stride, count, low, high);
#pragma GCC unroll 4
    for (int n = 0; n < kPairs; ++n)
#pragma GCC unroll 2
      for (int m = 0; m < MP; ++m) {
        const float32x4_t sum = vaddq_f32(low[n][m], high[n][m]);
        float32x4_t& all = out[n * MP + m];
        all = rows.scales == nullptr ? sum : vfmaq_n_f32(all, sum, rows.scales[i / kScaledEights]);
      }
  }
}

struct F8Output {
  float* y;
  int64_t ldy;
  int32_t rows, n_end;

  // Of pair m of MP.
  void store(const float32x4_t* sums, int step, int32_t n, int32_t row) const {
    float both[2][kF8Rows];
    for (int i = 0; i < kPairs; ++i) {
      vst1_f32(both[0] + 2 * i, vget_low_f32(sums[i * step]));
      vst1_f32(both[1] + 2 * i, vget_high_f32(sums[i * step]));
    }
    const auto count = static_cast<size_t>(std::min(kF8Rows, n_end - n));
    for (int32_t r = 0; r < 2 && row + r < rows; ++r)
      std::memcpy(y + (row + r) * ldy + n, both[r], count * sizeof(float));
  }
};

// All row pairs against the eight outputs from n on.
template <class Read>
void block_f8(const typename Read::Element* w, F8Rows rows, const F8Output& output, int32_t n) {
  const int32_t pairs = (output.rows + 1) / 2;
  float32x4_t sums[2 * kPairs];
  int32_t pair = 0;
  for (; pair + 2 <= pairs; pair += 2, rows.x += 2 * rows.stride) {
    dots_f8<Read, 2>(w, rows, sums);
    output.store(sums, 2, n, 2 * pair);
    output.store(sums + 1, 2, n, 2 * pair + 2);
  }
  if (pair == pairs) return;
  dots_f8<Read, 1>(w, rows, sums);
  output.store(sums, 1, n, 2 * pair);
}

// The codes of the eight outputs from n on, behind their scales.
const uint8_t* block_of(const Matrix& w, int32_t n) {
  return static_cast<const uint8_t*>(w.values) + n / kF8Rows * f8_block_bytes(w) + header_bytes(w);
}

const float* scales_of(const Matrix& w, const uint8_t* codes) {
  return w.group == 0 ? nullptr : reinterpret_cast<const float*>(codes - header_bytes(w));
}

// Eight columns of both rows of a pair, as float32.
void put_wide(const uint8_t* codes, float scale, float* first, float* second) {
  const F8Operands operands = widened(codes);
  const uint16x8_t low = vreinterpretq_u16_bf16(operands.low), high = vreinterpretq_u16_bf16(operands.high);
  const auto put = [&](uint16x4_t four, float* to) {
    vst1q_f32(to, vmulq_n_f32(vreinterpretq_f32_u32(vshll_n_u16(four, 16)), scale));
  };
  put(vget_low_u16(low), first);
  put(vget_low_u16(high), first + 4);
  put(vget_high_u16(low), second);
  put(vget_high_u16(high), second + 4);
}

// By way of float32, for activations like that.
void matmul_wide_f8(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  const int64_t eights = eights_of(w.cols), stride = eights * 8;
  const std::unique_ptr<float[]> wide(new float[static_cast<size_t>(stride) * kF8Rows]);
  Matrix rows;
  rows.format = WeightFormat::f32;
  rows.cols = w.cols;
  rows.row_stride = static_cast<int32_t>(stride);
  rows.values = wide.get();
  for (int32_t n = n_begin; n < n_end; n += kF8Rows) {
    const uint8_t* codes = block_of(w, n);
    const float* const scales = scales_of(w, codes);
    for (int64_t i = 0; i < eights; ++i)
      for (int pair = 0; pair < kPairs; ++pair, codes += 16) {
        float* const first = wide.get() + 2 * pair * stride + 8 * i;
        put_wide(codes, scales == nullptr ? 1.0f : scales[i / kScaledEights], first, first + stride);
      }
    rows.rows = std::min(kF8Rows, n_end - n);
    dotprod::matmul_floats(rows, x, y + n, ldy, 0, rows.rows);
  }
}

}  // namespace

size_t packed_f8_bytes(const Matrix& w) {
  const auto blocks = static_cast<size_t>((w.rows + kF8Rows - 1) / kF8Rows);
  return blocks * static_cast<size_t>(f8_block_bytes(w));
}

void pack_f8(const Matrix& w, void* out, int32_t block_begin, int32_t block_end) {
  const int64_t eights = eights_of(w.cols);
  const auto* const values = static_cast<const uint8_t*>(w.values);
  // The last rows have the whole block to fill.
  const int32_t end = 4 * block_end >= w.rows ? (block_end + 1) / 2 * 2 : block_end;
  for (int32_t row = 4 * block_begin; row < 4 * end; ++row) {
    auto* to = static_cast<uint8_t*>(out) + row / kF8Rows * f8_block_bytes(w);
    // All rows of a block have the same.
    if (w.group > 0 && row % kF8Rows == 0)
      std::memcpy(to, static_cast<const std::byte*>(w.scales) + static_cast<size_t>(row) * w.row_scale_bytes(),
                  w.row_scale_bytes());
    to += header_bytes(w) + row % kF8Rows / 2 * 16 + row % 2 * 4;
    for (int64_t i = 0; i < eights; ++i, to += 8 * kF8Rows) {
      uint8_t eight[8] = {};
      const auto count = std::min<int64_t>(8, w.cols - 8 * i);
      if (row < w.rows) std::memcpy(eight, values + int64_t{row} * w.cols + 8 * i, static_cast<size_t>(count));
      std::memcpy(to, eight, 4);
      std::memcpy(to + 8, eight + 4, 4);
    }
  }
}

void matmul_f8(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  if (x.shape.kind == ActKind::f32) return matmul_wide_f8(w, x, y, ldy, n_begin, n_end);
  const int64_t eights = eights_of(w.cols);
  F8Rows rows{static_cast<const uint16_t*>(x.bytes), eights * 16, eights};
  const F8Output output{y, ldy, x.shape.rows, n_end};
  const bool few = x.shape.rows <= kFewF8Rows;
  const std::unique_ptr<uint16_t[]> wide(few ? nullptr : new uint16_t[static_cast<size_t>(eights) * 8 * kF8Rows]);
  for (int32_t n = n_begin; n < n_end; n += kF8Rows) {
    const uint8_t* const codes = block_of(w, n);
    rows.scales = scales_of(w, codes);
    if (few) {
      block_f8<FromCodes>(codes, rows, output, n);
      continue;
    }
    for (int64_t i = 0; i < eights * kPairs; ++i) {
      const F8Operands operands = widened(codes + 16 * i);
      vst1q_u16(wide.get() + 16 * i, vreinterpretq_u16_bf16(operands.low));
      vst1q_u16(wide.get() + 16 * i + 8, vreinterpretq_u16_bf16(operands.high));
    }
    block_f8<FromWide>(wide.get(), rows, output, n);
  }
}

}  // namespace paceline::kernels::neon
