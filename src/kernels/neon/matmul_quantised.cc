// y [rows, N] = x [rows, K] · W [N, K]^T, W in affine groups of 8 or 4 bits, x in 8 bits with a scale per row and group.
//
// Per group g of one output n and row r: D = Σ q_w q_x, exact in int32; then in float32, groups ascending,
//   sum = fma(D, s[n,g] * a[r,g], sum);  sum = fma(b[n,g], a[r,g] * Σ q_x, sum)
// with s, b the group's scale and bias and a the row's scale. Lanes only ever hold different (n, r), so every tile shape
// gives the same bits.
// One row: dot-product instructions, 4 outputs side by side. More: the 2x8 · 8x2 matrix instruction on 2x2 tiles.
// Bound: with few rows the bytes of W. One row of q8, group 64, needs about 1.75 vector operations per 16 bytes, q4 about
// 5.5; with many rows the matrix instruction, one per 32 products, plus 5 operations per tile and group.
#include <arm_neon.h>

#include "kernels/neon/act.h"
#include "kernels/neon/matmul.h"
#include "kernels/portable/matmul.h"

namespace paceline::kernels::neon {
namespace {

// Groups whose scales fit the stack buffers below: kMaxColumns in the smallest groups.
constexpr int32_t kMaxGroups = kMaxColumns / 32;

// 1.5 * 2^23: an int32 in ±2^22 added to its bits, read as float32, is that float plus the integer. |D| is at most
// 128 * 255 * 127 < 2^22.
constexpr int32_t kMagicBits = 0x4b400000;
constexpr float kMagic = 12582912.0f;

const uint8_t* value_row(const Matrix& w, int32_t n) {
  return static_cast<const uint8_t*>(w.values) + static_cast<size_t>(n) * w.row_value_bytes();
}

// out[g] = {s[n0,g], s[n1,g], s[n2,g], s[n3,g]}
void gather_scales(const Matrix& w, const void* scales, const int32_t (&n)[4], float* out) {
  const int32_t groups = w.cols / w.group;
  int32_t g = 0;
  if (w.scale_dtype == DType::bf16) {
    const auto* s = static_cast<const uint16_t*>(scales);
    const uint16_t* rows[4];
    for (int i = 0; i < 4; ++i) rows[i] = s + static_cast<int64_t>(n[i]) * groups;
    for (; g + 4 <= groups; g += 4) {
      const uint16x4x2_t a = vzip_u16(vld1_u16(rows[0] + g), vld1_u16(rows[2] + g));  // 0g0 2g0 0g1 2g1 | …
      const uint16x4x2_t b = vzip_u16(vld1_u16(rows[1] + g), vld1_u16(rows[3] + g));
      const uint16x4x2_t low = vzip_u16(a.val[0], b.val[0]);                          // g0: 0 1 2 3 | g1
      const uint16x4x2_t high = vzip_u16(a.val[1], b.val[1]);
      vst1q_u32(reinterpret_cast<uint32_t*>(out + 4 * g), vshll_n_u16(low.val[0], 16));
      vst1q_u32(reinterpret_cast<uint32_t*>(out + 4 * g + 4), vshll_n_u16(low.val[1], 16));
      vst1q_u32(reinterpret_cast<uint32_t*>(out + 4 * g + 8), vshll_n_u16(high.val[0], 16));
      vst1q_u32(reinterpret_cast<uint32_t*>(out + 4 * g + 12), vshll_n_u16(high.val[1], 16));
    }
  }
  for (; g < groups; ++g)
    for (int i = 0; i < 4; ++i) out[4 * g + i] = portable::scale_at(w, scales, n[i], g);
}

// Σ of 16 (q8) or 32 (q4) products per load, into one accumulator of 4 lanes.
template <bool kNibbles>
inline int32x4_t dot_step(int32x4_t sum, const uint8_t* w, const int8_t* x) {
  const uint8x16_t bytes = vld1q_u8(w);
  if constexpr (kNibbles) {
    sum = vusdotq_s32(sum, vandq_u8(bytes, vdupq_n_u8(15)), vld1q_s8(x));
    return vusdotq_s32(sum, vshrq_n_u8(bytes, 4), vld1q_s8(x + 16));
  } else {
    return vusdotq_s32(sum, bytes, vld1q_s8(x));
  }
}

// One row, outputs n … n + 3.
template <bool kNibbles, int kGroup>
inline float32x4_t single_row(const uint8_t* const (&w)[4], const QuantisedAct& x, int32_t groups, const float* s, const float* b) {
  constexpr int kBytes = kNibbles ? kGroup / 2 : kGroup;
  constexpr int kColumnsPerLoad = kNibbles ? 32 : 16;
  float32x4_t sum = vdupq_n_f32(0);
  for (int32_t g = 0; g < groups; ++g) {
    int32x4_t d[4];
    for (auto& lane : d) lane = vdupq_n_s32(0);
    for (int i = 0; i < kBytes; i += 16) {
      const int8_t* xk = x.q + g * kGroup + i / 16 * kColumnsPerLoad;
      for (int n = 0; n < 4; ++n) d[n] = dot_step<kNibbles>(d[n], w[n] + g * kBytes + i, xk);
    }
    const float32x4_t exact = vcvtq_f32_s32(vpaddq_s32(vpaddq_s32(d[0], d[1]), vpaddq_s32(d[2], d[3])));
    sum = vfmaq_f32(sum, exact, vmulq_n_f32(vld1q_f32(s + 4 * g), x.scales[g]));
    sum = vfmaq_n_f32(sum, vld1q_f32(b + 4 * g), x.sums[g]);
  }
  return sum;
}

template <bool kNibbles, int kGroup>
void single_rows(const Matrix& w, const Act& x, float* y, int32_t n_begin, int32_t n_end) {
  float s[4 * kMaxGroups], b[4 * kMaxGroups];
  const QuantisedAct parts = quantised_parts(x);
  for (int32_t n = n_begin; n < n_end; n += 4) {
    int32_t rows[4];
    const uint8_t* values[4];
    for (int i = 0; i < 4; ++i) {
      rows[i] = n + i < n_end ? n + i : n_end - 1;
      values[i] = value_row(w, rows[i]);
    }
    gather_scales(w, w.scales, rows, s);
    gather_scales(w, w.biases, rows, b);
    float out[4];
    vst1q_f32(out, single_row<kNibbles, kGroup>(values, parts, w.cols / kGroup, s, b));
    for (int i = 0; i < 4 && n + i < n_end; ++i) y[n + i] = out[i];
  }
}

// NP output pairs times MP row pairs: 2x2 tiles {n0 r0, n0 r1, n1 r0, n1 r1}.
template <bool kNibbles, int kGroup, int NP, int MP>
struct Tile {
  const uint8_t* w[2 * NP];
  const int8_t* x;              // first row pair
  const float* scales;          // of x: [pair][group][4]
  const float* sums;
  const float* s;               // of w: [group][2 * NP]
  const float* b;
  int32_t groups;
  float32x4_t out[NP][MP];

  static constexpr int kBytes = kNibbles ? kGroup / 2 : kGroup;

  // Unpacks 16 bytes of each weight row into operands of 8 columns by 2 outputs.
  static constexpr int kOperands = kNibbles ? 4 : 2;
  static void unpack(const uint8_t* w0, const uint8_t* w1, uint8x16_t (&operands)[kOperands]) {
    const uint64x2_t a = vreinterpretq_u64_u8(vld1q_u8(w0)), c = vreinterpretq_u64_u8(vld1q_u8(w1));
    const uint8x16_t low = vreinterpretq_u8_u64(vtrn1q_u64(a, c)), high = vreinterpretq_u8_u64(vtrn2q_u64(a, c));
    if constexpr (kNibbles) {
      operands[0] = vandq_u8(low, vdupq_n_u8(15));
      operands[1] = vshrq_n_u8(low, 4);
      operands[2] = vandq_u8(high, vdupq_n_u8(15));
      operands[3] = vshrq_n_u8(high, 4);
    } else {
      operands[0] = low;
      operands[1] = high;
    }
  }

  void group(int32_t g) {
    int32x4_t d[NP][MP];
    for (auto& row : d)
      for (auto& tile : row) tile = vdupq_n_s32(kMagicBits);
    const int64_t pair_bytes = static_cast<int64_t>(groups) * kGroup * 2;
    for (int i = 0; i < kBytes; i += 16) {
      uint8x16_t operands[NP][kOperands];
      for (int n = 0; n < NP; ++n) unpack(w[2 * n] + g * kBytes + i, w[2 * n + 1] + g * kBytes + i, operands[n]);
      const int8_t* xk = x + (static_cast<int64_t>(g) * kGroup + i * (kGroup / kBytes)) * 2;
      for (int o = 0; o < kOperands; ++o)
        for (int m = 0; m < MP; ++m) {
          const int8x16_t xv = vld1q_s8(xk + m * pair_bytes + o * 16);
          for (int n = 0; n < NP; ++n) d[n][m] = vusmmlaq_s32(d[n][m], operands[n][o], xv);
        }
    }
    for (int n = 0; n < NP; ++n) {
      const float32x2_t s2 = vld1_f32(s + (g * NP + n) * 2), b2 = vld1_f32(b + (g * NP + n) * 2);
      const float32x4_t sv = vcombine_f32(vdup_lane_f32(s2, 0), vdup_lane_f32(s2, 1));
      const float32x4_t bv = vcombine_f32(vdup_lane_f32(b2, 0), vdup_lane_f32(b2, 1));
      for (int m = 0; m < MP; ++m) {
        const int64_t at = (static_cast<int64_t>(m) * groups + g) * 4;
        const float32x4_t exact = vsubq_f32(vreinterpretq_f32_s32(d[n][m]), vdupq_n_f32(kMagic));
        out[n][m] = vfmaq_f32(out[n][m], exact, vmulq_f32(sv, vld1q_f32(scales + at)));
        out[n][m] = vfmaq_f32(out[n][m], bv, vld1q_f32(sums + at));
      }
    }
  }
};

// Outputs [n, n + 2 * NP) for row pairs [pair, pair + MP); what lies beyond n_end or the last row is thrown away.
template <bool kNibbles, int kGroup, int NP, int MP>
void tile(const Matrix& w, const Act& x, int32_t pair, const float* s, const float* b, float* y, int64_t ldy, int32_t n, int32_t n_end) {
  const QuantisedAct parts = quantised_parts(x);
  Tile<kNibbles, kGroup, NP, MP> t;
  t.groups = w.cols / kGroup;
  for (int i = 0; i < 2 * NP; ++i) t.w[i] = value_row(w, n + i < n_end ? n + i : n_end - 1);
  t.x = parts.q + static_cast<int64_t>(pair) * w.cols * 2;
  t.scales = parts.scales + static_cast<int64_t>(pair) * t.groups * 4;
  t.sums = parts.sums + static_cast<int64_t>(pair) * t.groups * 4;
  t.s = s;
  t.b = b;
  for (auto& row : t.out)
    for (auto& sum : row) sum = vdupq_n_f32(0);
  for (int32_t g = 0; g < t.groups; ++g) t.group(g);
  for (int p = 0; p < NP; ++p) {
    for (int m = 0; m < MP; ++m) {
      float out[4];
      vst1q_f32(out, t.out[p][m]);
      for (int i = 0; i < 4; ++i) {
        const int32_t output = n + 2 * p + i / 2, row = 2 * (pair + m) + i % 2;
        if (output < n_end && row < x.shape.rows) y[row * ldy + output] = out[i];
      }
    }
  }
}

template <bool kNibbles, int kGroup>
void many_rows(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  // Two output pairs at a time; rows pass over them in tiles of 8 (or what is left), so weights beyond the first tile
  // come from the first cache.
  float s[4 * kMaxGroups], b[4 * kMaxGroups];
  const int32_t pairs = (x.shape.rows + 1) / 2;
  for (int32_t n = n_begin; n < n_end; n += 4) {
    int32_t rows[4];
    for (int i = 0; i < 4; ++i) rows[i] = n + i < n_end ? n + i : n_end - 1;
    gather_scales(w, w.scales, rows, s);
    gather_scales(w, w.biases, rows, b);
    for (int32_t pair = 0; pair < pairs;) {
      const int32_t left = pairs - pair;
      if (left >= 4) tile<kNibbles, kGroup, 2, 4>(w, x, pair, s, b, y, ldy, n, n_end), pair += 4;
      else if (left >= 2) tile<kNibbles, kGroup, 2, 2>(w, x, pair, s, b, y, ldy, n, n_end), pair += 2;
      else tile<kNibbles, kGroup, 2, 1>(w, x, pair, s, b, y, ldy, n, n_end), pair += 1;
    }
  }
}

template <bool kNibbles, int kGroup>
void run(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  if (x.shape.rows == 1) return single_rows<kNibbles, kGroup>(w, x, y, n_begin, n_end);
  many_rows<kNibbles, kGroup>(w, x, y, ldy, n_begin, n_end);
}

template <bool kNibbles>
void run_group(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  switch (w.group) {
    case 32: return run<kNibbles, 32>(w, x, y, ldy, n_begin, n_end);
    case 64: return run<kNibbles, 64>(w, x, y, ldy, n_begin, n_end);
    default: return run<kNibbles, 128>(w, x, y, ldy, n_begin, n_end);
  }
}

}  // namespace

void matmul_quantised(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  if (w.format == WeightFormat::q4) run_group<true>(w, x, y, ldy, n_begin, n_end);
  else run_group<false>(w, x, y, ldy, n_begin, n_end);
}

}  // namespace paceline::kernels::neon
