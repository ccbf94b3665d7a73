// y [rows, N] = x [rows, K] · W [N, K]^T, W in affine groups of 8 or 4 bits, x in 8 bits with a scale per row and group.
//
// For one output n and row r, with D_g = Σ q_w q_x over group g, exact in int32:
//   p = Σ over g, ascending, of fma(D_g, s[n,g] * a[r,g], p)
//   c = Σ over g of b[n,g] * (a[r,g] Σ q_x), by the bf16 matrix instruction, upper and lower parts of the sums apart
//   y = p + c
// with s, b the group's scale and bias and a the row's scale. No operation mixes outputs or rows, so every tile shape
// gives the same bits.
// One row: dot-product instructions on four weight rows side by side. More rows: the 2x8 · 8x2 matrix instruction on 2x2
// tiles.
// Bound: with few rows the bytes of W: one row of q8 in groups of 64 takes 104 vector operations per 1088 bytes, q4 168 per
// 576. With many rows the vector units: one matrix instruction per 32 products, plus 3.5 operations per tile and group.
#include <arm_neon.h>

#include "kernels/neon/act.h"
#include "kernels/neon/matmul.h"
#include "kernels/neon/streams.h"

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

// Four scales from p on, as float32.
inline float32x4_t load_scales(const uint16_t* p) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16)); }
inline float32x4_t load_scales(const float* p) { return vld1q_f32(p); }

// Four biases as a sum of two bf16; those that the checkpoint keeps in bf16 have no lower part.
inline uint16x4_t upper_biases(const uint16_t* p) { return vld1_u16(p); }
inline uint16x4_t lower_biases(const uint16_t*) { return vdup_n_u16(0); }
inline uint16x4_t upper_biases(const float* p) { return vreinterpret_u16_bf16(vcvt_bf16_f32(vld1q_f32(p))); }
inline uint16x4_t lower_biases(const float* p) {
  const float32x4_t upper = vreinterpretq_f32_u32(vshll_n_u16(upper_biases(p), 16));
  return vreinterpret_u16_bf16(vcvt_bf16_f32(vsubq_f32(vld1q_f32(p), upper)));
}

// Calls f(first group, pointers of the rows' scales there) for every four groups; the last call may see zeros beyond the
// last group. Scale is the type that scales and biases are kept in.
template <class Scale, int kRows, class F>
inline void for_scales(const Matrix& w, const void* scales, const int32_t* n, F f) {
  const int32_t groups = w.cols / w.group;
  const Scale* rows[kRows];
  for (int i = 0; i < kRows; ++i) rows[i] = static_cast<const Scale*>(scales) + static_cast<int64_t>(n[i]) * groups;
  int32_t g = 0;
  for (; g + 4 <= groups; g += 4) {
    f(g, rows);
    for (int i = 0; i < kRows; ++i) rows[i] += 4;
  }
  if (g == groups) return;
  Scale padded[kRows][4] = {};
  const Scale* tails[kRows];
  for (int i = 0; i < kRows; ++i) {
    for (int32_t j = 0; j < groups - g; ++j) padded[i][j] = rows[i][j];
    tails[i] = padded[i];
  }
  f(g, tails);
}

bfloat16x8_t as_bf16(uint16x4_t low, uint16x4_t high) { return vreinterpretq_bf16_u16(vcombine_u16(low, high)); }

// c for outputs n[0] and n[1] and the row pairs from `pair`: tiles {n0 r0, n0 r1, n1 r0, n1 r1}.
template <class Scale, int MP>
inline void bias_tiles(const Matrix& w, const QuantisedAct& x, int32_t pair, const int32_t* n, float32x4_t (&c)[MP]) {
  float32x4_t upper[MP], lower[MP];
  for (int m = 0; m < MP; ++m) upper[m] = lower[m] = vdupq_n_f32(0);
  const uint16_t* sums = x.sums + static_cast<int64_t>(pair) * x.blocks * 16;
  for_scales<Scale, 2>(w, w.biases, n, [&](int32_t g, const Scale* const* b) {
    const bfloat16x8_t b_upper = as_bf16(upper_biases(b[0]), upper_biases(b[1]));
    const bfloat16x8_t b_lower = as_bf16(lower_biases(b[0]), lower_biases(b[1]));
    for (int m = 0; m < MP; ++m) {
      const uint16_t* at = sums + (static_cast<int64_t>(m) * x.blocks * 4 + g) * 4;
      const auto x_upper = vreinterpretq_bf16_u16(vld1q_u16(at));
      upper[m] = vbfmmlaq_f32(upper[m], b_upper, x_upper);
      lower[m] = vbfmmlaq_f32(lower[m], b_upper, vreinterpretq_bf16_u16(vld1q_u16(at + 8)));
      if constexpr (sizeof(Scale) == 4) lower[m] = vbfmmlaq_f32(lower[m], b_lower, x_upper);
    }
  });
  for (int m = 0; m < MP; ++m) c[m] = vaddq_f32(upper[m], lower[m]);
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

// D of one group for four weight rows.
template <bool kNibbles, int kGroup>
inline int32x4_t four_dots(const uint8_t* const (&w)[4], int64_t at, const int8_t* x) {
  constexpr int kBytes = kNibbles ? kGroup / 2 : kGroup;
  constexpr int kColumnsPerLoad = kNibbles ? 32 : 16;
  int32x4_t d[4];
  for (auto& lanes : d) lanes = vdupq_n_s32(0);
  for (int i = 0; i < kBytes; i += 16)
    for (int n = 0; n < 4; ++n) d[n] = dot_step<kNibbles>(d[n], w[n] + at + i, x + i / 16 * kColumnsPerLoad);
  return vpaddq_s32(vpaddq_s32(d[0], d[1]), vpaddq_s32(d[2], d[3]));
}

// s[g] = {n0, n1, n2, n3}: the scales of four rows, group by group.
template <class Scale>
[[gnu::noinline]] void gather_four(const Matrix& w, const int32_t (&n)[4], float* s) {
  for_scales<Scale, 4>(w, w.scales, n, [&](int32_t g, const Scale* const* rows) {
    const float32x4_t r0 = load_scales(rows[0]), r1 = load_scales(rows[1]), r2 = load_scales(rows[2]), r3 = load_scales(rows[3]);
    const float32x4_t a = vzip1q_f32(r0, r2), b = vzip2q_f32(r0, r2), c = vzip1q_f32(r1, r3), d = vzip2q_f32(r1, r3);
    vst1q_f32(s + 4 * g, vzip1q_f32(a, c));
    vst1q_f32(s + 4 * g + 4, vzip2q_f32(a, c));
    vst1q_f32(s + 4 * g + 8, vzip1q_f32(b, d));
    vst1q_f32(s + 4 * g + 12, vzip2q_f32(b, d));
  });
}

// p of four weight rows against one row. A function of its own, as scaled_dots below.
template <bool kNibbles, int kGroup>
[[gnu::noinline]] float32x4_t single_dots(const uint8_t* const (&w)[4], const QuantisedAct& x, int32_t groups, const float* s) {
  constexpr int kBytes = kNibbles ? kGroup / 2 : kGroup;
  const int8_t* q = x.q;
  const float* scales = x.scales;
  const uint8_t* rows[4] = {w[0], w[1], w[2], w[3]};
  float32x4_t p = vdupq_n_f32(0);
  for (int32_t g = 0; g < groups; ++g) {
    const int32x4_t d = four_dots<kNibbles, kGroup>(rows, 0, q);
    p = vfmaq_f32(p, vcvtq_f32_s32(d), vmulq_n_f32(vld1q_f32(s), *scales));
    for (auto& row : rows) row += kBytes;
    q += kGroup;
    s += 4;
    ++scales;
  }
  return p;
}

template <bool kNibbles, int kGroup, class Scale>
void single_rows(const Matrix& w, const Act& x, float* y, int32_t n_begin, int32_t n_end) {
  float s[4 * (kMaxGroups + 4)];
  const QuantisedAct parts = quantised_parts(x);
  const Streams<4> streams(n_begin, n_end);
  for (int32_t t = 0; t < streams.run; ++t) {
    int32_t n[4];
    const uint8_t* values[4];
    for (int i = 0; i < 4; ++i) {
      n[i] = streams.row(t, i);
      values[i] = value_row(w, n[i]);
    }
    gather_four<Scale>(w, n, s);
    float32x4_t c[2][1];
    bias_tiles<Scale, 1>(w, parts, 0, n, c[0]);
    bias_tiles<Scale, 1>(w, parts, 0, n + 2, c[1]);
    const float32x4_t p = single_dots<kNibbles, kGroup>(values, parts, w.cols / kGroup, s);
    float out[4];
    vst1q_f32(out, vaddq_f32(p, vuzp1q_f32(c[0][0], c[1][0])));
    for (int i = 0; i < 4; ++i) y[n[i]] = out[i];
  }
}

// s[g] = {n0, n0, n1, n1, …}: what 2x2 tiles of NP output pairs multiply with.
template <class Scale, int NP>
inline void gather_pairs(const Matrix& w, const int32_t (&n)[2 * NP], float* s) {
  for_scales<Scale, 2 * NP>(w, w.scales, n, [&](int32_t g, const Scale* const* rows) {
    for (int pair = 0; pair < NP; ++pair) {
      const float32x4_t a = load_scales(rows[2 * pair]), b = load_scales(rows[2 * pair + 1]);
      const float32x4_t low = vzip1q_f32(a, b), high = vzip2q_f32(a, b);
      float* at = s + 4 * (NP * g + pair);
      vst1q_f32(at, vzip1q_f32(low, low));
      vst1q_f32(at + 4 * NP, vzip2q_f32(low, low));
      vst1q_f32(at + 8 * NP, vzip1q_f32(high, high));
      vst1q_f32(at + 12 * NP, vzip2q_f32(high, high));
    }
  });
}

// Unpacks 16 bytes of two weight rows into operands of 8 columns by 2 outputs.
template <bool kNibbles>
inline void unpack(const uint8_t* w0, const uint8_t* w1, uint8x16_t (&operands)[kNibbles ? 4 : 2]) {
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

// What a tile of NP output pairs times some row pairs reads.
template <int NP>
struct TileInput {
  const uint8_t* w[2 * NP];
  const uint8_t* packed;        // the rows' operands, [bytes / 16][operand][NP][16], or none
  const int8_t* x;              // first row pair
  const float* scales;          // of x: [pair][group][4]
  const float* s;               // of w: [group][NP][4]
  int32_t groups;
};

// The operands in the order in which scaled_dots reads them, for rows that need several tiles.
template <bool kNibbles, int NP>
void pack(const TileInput<NP>& in, int64_t bytes, uint8_t* out) {
  constexpr int kOperands = kNibbles ? 4 : 2;
  for (int64_t i = 0; i < bytes; i += 16, out += kOperands * NP * 16)
    for (int n = 0; n < NP; ++n) {
      uint8x16_t a[kOperands];
      unpack<kNibbles>(in.w[2 * n] + i, in.w[2 * n + 1] + i, a);
      for (int o = 0; o < kOperands; ++o) vst1q_u8(out + (o * NP + n) * 16, a[o]);
    }
}

// p of the tile, [NP][MP] 2x2 results. A function of its own, so that the sums keep to the registers.
template <bool kNibbles, int kGroup, int NP, int MP, bool kPacked>
[[gnu::noinline]] void scaled_dots(const TileInput<NP>& in, float32x4_t* out) {
  constexpr int kBytes = kNibbles ? kGroup / 2 : kGroup;
  constexpr int kOperands = kNibbles ? 4 : 2;
  const uint8_t *w[2 * NP], *packed = in.packed;
  for (int i = 0; i < 2 * NP; ++i) w[i] = in.w[i];
  const int8_t* x = in.x;
  const float *scales = in.scales, *s = in.s;
  const int64_t pair_bytes = static_cast<int64_t>(in.groups) * kGroup * 2, pair_scales = static_cast<int64_t>(in.groups) * 4;
  float32x4_t p[NP][MP];
  for (int n = 0; n < NP; ++n)
    for (int m = 0; m < MP; ++m) p[n][m] = vdupq_n_f32(0);
  for (int32_t g = 0; g < in.groups; ++g) {
    int32x4_t d[NP][MP];
    for (int n = 0; n < NP; ++n)
      for (int m = 0; m < MP; ++m) d[n][m] = vdupq_n_s32(kMagicBits);
#pragma GCC unroll 8
    for (int i = 0; i < kBytes; i += 16) {
      uint8x16_t a[NP][kOperands];
#pragma GCC unroll 4
      for (int n = 0; n < NP; ++n) {
        if constexpr (kPacked) {
          for (int o = 0; o < kOperands; ++o) a[n][o] = vld1q_u8(packed + (o * NP + n) * 16);
        } else {
          unpack<kNibbles>(w[2 * n] + i, w[2 * n + 1] + i, a[n]);
        }
      }
      packed += kOperands * NP * 16;
#pragma GCC unroll 4
      for (int o = 0; o < kOperands; ++o)
#pragma GCC unroll 4
        for (int m = 0; m < MP; ++m) {
          const int8x16_t xv = vld1q_s8(x + m * pair_bytes + (i / 16 * kOperands + o) * 16);
#pragma GCC unroll 4
          for (int n = 0; n < NP; ++n) d[n][m] = vusmmlaq_s32(d[n][m], a[n][o], xv);
        }
    }
#pragma GCC unroll 4
    for (int m = 0; m < MP; ++m) {
      const float32x4_t scale = vld1q_f32(scales + m * pair_scales);
#pragma GCC unroll 4
      for (int n = 0; n < NP; ++n)
        p[n][m] = vfmaq_f32(p[n][m], vsubq_f32(vreinterpretq_f32_s32(d[n][m]), vdupq_n_f32(kMagic)),
                            vmulq_f32(vld1q_f32(s + 4 * n), scale));
    }
    for (int i = 0; i < 2 * NP; ++i) w[i] += kBytes;
    x += kGroup * 2;
    scales += 4;
    s += 4 * NP;
  }
  for (int n = 0; n < NP; ++n)
    for (int m = 0; m < MP; ++m) out[n * MP + m] = p[n][m];
}

// The outputs n for row pairs [pair, pair + MP); rows beyond the last are thrown away.
template <bool kNibbles, int kGroup, class Scale, int NP, int MP, bool kPacked>
void tile(const Matrix& w, const Act& x, int32_t pair, TileInput<NP> in, const int32_t (&n)[2 * NP], float* y, int64_t ldy) {
  const QuantisedAct parts = quantised_parts(x);
  in.x = parts.q + static_cast<int64_t>(pair) * w.cols * 2;
  in.scales = parts.scales + static_cast<int64_t>(pair) * in.groups * 4;
  float32x4_t p[NP * MP];
  scaled_dots<kNibbles, kGroup, NP, MP, kPacked>(in, p);
  for (int i = 0; i < NP; ++i) {
    float32x4_t c[MP];
    bias_tiles<Scale, MP>(w, parts, pair, n + 2 * i, c);
    for (int m = 0; m < MP; ++m) {
      float out[4];
      vst1q_f32(out, vaddq_f32(p[i * MP + m], c[m]));
      float* rows = y + static_cast<int64_t>(2 * (pair + m)) * ldy;
      const bool second = 2 * (pair + m) + 1 < x.shape.rows;
      // Outputs beyond the range repeat its last one, so storing them does no harm.
      for (int o = 0; o < 2; ++o) {
        rows[n[2 * i + o]] = out[2 * o];
        if (second) rows[ldy + n[2 * i + o]] = out[2 * o + 1];
      }
    }
  }
}

// Rows pass over NP output pairs at a time in tiles of MP row pairs (or what is left); with more than one tile the weights
// are unpacked once for all.
template <bool kNibbles, int kGroup, class Scale, int NP, int MP, bool kPacked>
void many_rows(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  float s[4 * NP * (kMaxGroups + 4)];
  uint8_t packed[kPacked ? 2 * NP * kMaxColumns : 1];
  const int32_t pairs = (x.shape.rows + 1) / 2;
  const Streams<2 * NP, kPacked> streams(n_begin, n_end);
  TileInput<NP> in{};
  in.groups = w.cols / kGroup;
  in.s = s;
  in.packed = packed;
  for (int32_t t = 0; t < streams.run; ++t) {
    int32_t n[2 * NP];
    for (int i = 0; i < 2 * NP; ++i) {
      n[i] = streams.row(t, i);
      in.w[i] = value_row(w, n[i]);
    }
    gather_pairs<Scale, NP>(w, n, s);
    if constexpr (kPacked) pack<kNibbles, NP>(in, static_cast<int64_t>(w.row_value_bytes()), packed);
    for (int32_t pair = 0; pair < pairs;) {
      const int32_t left = pairs - pair;
      if (left >= MP) tile<kNibbles, kGroup, Scale, NP, MP, kPacked>(w, x, pair, in, n, y, ldy), pair += MP;
      else if (MP > 2 && left >= 2) tile<kNibbles, kGroup, Scale, NP, 2, kPacked>(w, x, pair, in, n, y, ldy), pair += 2;
      else tile<kNibbles, kGroup, Scale, NP, 1, kPacked>(w, x, pair, in, n, y, ldy), pair += 1;
    }
  }
}

template <bool kNibbles, int kGroup, class Scale>
void run_scales(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  if (x.shape.rows == 1) return single_rows<kNibbles, kGroup, Scale>(w, x, y, n_begin, n_end);
  if (x.shape.rows <= 16) return many_rows<kNibbles, kGroup, Scale, 2, 4, false>(w, x, y, ldy, n_begin, n_end);
  many_rows<kNibbles, kGroup, Scale, 4, 2, true>(w, x, y, ldy, n_begin, n_end);
}

template <bool kNibbles, int kGroup>
void run(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  if (w.scale_dtype == DType::bf16) return run_scales<kNibbles, kGroup, uint16_t>(w, x, y, ldy, n_begin, n_end);
  run_scales<kNibbles, kGroup, float>(w, x, y, ldy, n_begin, n_end);
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
