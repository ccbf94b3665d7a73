// y [rows, N] = x [rows, K] · W [N, K]^T, W in affine groups of 8 or 4 bits, x in 8 bits with a scale per row and group.
//
// For one output n and row r, with D_g = Σ q_w q_x over group g, exact in int32:
//   p = Σ over g, ascending, of fma(D_g, s[n,g] * a[r,g], p)
//   c = Σ over g of b[n,g] * (a[r,g] Σ q_x), by the bf16 matrix instruction, upper and lower parts of the sums apart
//   y = p + c
// with s, b the group's scale and bias and a the row's scale. No operation mixes outputs or rows, so every tile shape
// gives the same bits.
// Weights as packed.h lays them out, rows in pairs as act.h does. One row: dot-product instructions on four outputs. More:
// the 2x8 · 8x2 matrix instruction on 2x2 tiles {n0 r0, n0 r1, n1 r0, n1 r1}.
// Bound: with few rows the bytes of W. Vector operations per 272 bytes of q8 in groups of 64: one row 23, two 26, four 49,
// eight 95; q4 needs 16 more per 144 bytes. With many rows the vector units: one matrix instruction per 32 products, plus
// 3.5 operations per tile and group.
#include <arm_neon.h>

#include "kernels/neon/act.h"
#include "kernels/neon/matmul.h"
#include "kernels/neon/packed.h"

namespace paceline::kernels::neon {
namespace {

// 1.5 * 2^23: an int32 in ±2^22 added to its bits, read as float32, is that float plus the integer. |D| is at most
// 128 * 255 * 127 < 2^22.
constexpr int32_t kMagicBits = 0x4b400000;
constexpr float kMagic = 12582912.0f;

float32x4_t widen(uint16x4_t bf16) { return vreinterpretq_f32_u32(vshll_n_u16(bf16, 16)); }
// The scales of a block's four rows for one group.
float32x4_t load_scales(const uint16_t* header, int32_t g) { return widen(vld1_u16(header + 4 * g)); }
float32x4_t load_scales(const float* header, int32_t g) { return vld1q_f32(header + 4 * g); }
bfloat16x8_t load_bf16(const uint16_t* p) { return vreinterpretq_bf16_u16(vld1q_u16(p)); }

// 16 bytes of two weight rows as operands of 8 columns by 2 outputs.
template <bool kNibbles>
inline void operands(const uint8_t* w, uint8x16_t (&out)[kNibbles ? 2 : 1]) {
  const uint8x16_t bytes = vld1q_u8(w);
  if constexpr (kNibbles) {
    out[0] = vandq_u8(bytes, vdupq_n_u8(15));
    out[1] = vshrq_n_u8(bytes, 4);
  } else {
    out[0] = bytes;
  }
}

// Adds four groups' biases times the rows' sums (upper and lower parts) to the two 2x2 tiles of a block.
template <class Scale>
inline void add_bias_products(const uint8_t* header, bfloat16x8_t x_upper, bfloat16x8_t x_lower, float32x4_t (&upper)[2], float32x4_t (&lower)[2]) {
  const auto* biases = reinterpret_cast<const uint16_t*>(header + kHeaderBytes<Scale> / 2);
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    const bfloat16x8_t b = load_bf16(biases + 8 * i);
    upper[i] = vbfmmlaq_f32(upper[i], b, x_upper);
    lower[i] = vbfmmlaq_f32(lower[i], b, x_lower);
    if constexpr (sizeof(Scale) == sizeof(float)) lower[i] = vbfmmlaq_f32(lower[i], load_bf16(biases + 16 + 8 * i), x_upper);
  }
}

// One row against a block: its four outputs. Both rows of the pair are the same row, so a product of 16 bytes has two sums
// of each output.
template <bool kNibbles, int kGroup, class Scale>
[[gnu::noinline]] float32x4_t single(const uint8_t* w, const QuantisedAct& x, int32_t groups) {
  constexpr int kSteps = kGroup / (kNibbles ? 16 : 8);
  constexpr int kOperands = kNibbles ? 2 : 1;
  const int8_t* q = x.q;
  const float* scales = x.scales;
  const uint16_t* sums = x.sums;
  float32x4_t p = vdupq_n_f32(0), upper[2], lower[2];
  for (int i = 0; i < 2; ++i) upper[i] = lower[i] = vdupq_n_f32(0);
  for (int32_t left = groups; left > 0; left -= 4, sums += 16) {
    const auto* header = reinterpret_cast<const Scale*>(w);
    add_bias_products<Scale>(w, load_bf16(sums), load_bf16(sums + 8), upper, lower);
    w += kHeaderBytes<Scale>;
    for (int32_t g = 0; g < (left < 4 ? left : 4); ++g) {
      int32x4_t d0 = vdupq_n_s32(0), d1 = vdupq_n_s32(0);
#pragma GCC unroll 16
      for (int step = 0; step < kSteps; ++step, w += 32) {
        uint8x16_t a[kOperands], b[kOperands];
        operands<kNibbles>(w, a);
        operands<kNibbles>(w + 16, b);
#pragma GCC unroll 2
        for (int o = 0; o < kOperands; ++o, q += 16) {
          const int8x16_t xv = vld1q_s8(q);
          d0 = vusdotq_s32(d0, a[o], xv);
          d1 = vusdotq_s32(d1, b[o], xv);
        }
      }
      const float32x4_t scale = vmulq_f32(load_scales(header, g), vld1q_f32(scales));
      p = vfmaq_f32(p, vcvtq_f32_s32(vpaddq_s32(d0, d1)), scale);
      scales += 4;
    }
  }
  return vaddq_f32(p, vuzp1q_f32(vaddq_f32(upper[0], lower[0]), vaddq_f32(upper[1], lower[1])));
}

// NB blocks against MP row pairs: out [NB * 2][MP] tiles. A function of its own, so that sums keep to the registers.
template <bool kNibbles, int kGroup, class Scale, int NB, int MP>
[[gnu::noinline]] void tiles(const uint8_t* const* blocks, const QuantisedAct& x, int32_t pair, int32_t groups, float32x4_t* out) {
  constexpr int NP = 2 * NB;
  constexpr int kSteps = kGroup / (kNibbles ? 16 : 8);
  constexpr int kOperands = kNibbles ? 2 : 1;
  const int64_t pair_bytes = static_cast<int64_t>(groups) * kGroup * 2, pair_scales = static_cast<int64_t>(groups) * 4;
  const uint8_t* w[NB];
  for (int b = 0; b < NB; ++b) w[b] = blocks[b];
  const int8_t* q = x.q + pair * pair_bytes;
  const float* scales = x.scales + pair * pair_scales;
  float32x4_t p[NP][MP];
  for (int n = 0; n < NP; ++n)
    for (int m = 0; m < MP; ++m) p[n][m] = vdupq_n_f32(0);
  for (int32_t left = groups; left > 0; left -= 4) {
    const Scale* header[NB];
    for (int b = 0; b < NB; ++b) {
      header[b] = reinterpret_cast<const Scale*>(w[b]);
      w[b] += kHeaderBytes<Scale>;
    }
    for (int32_t g = 0; g < (left < 4 ? left : 4); ++g) {
      int32x4_t d[NP][MP];
      for (int n = 0; n < NP; ++n)
        for (int m = 0; m < MP; ++m) d[n][m] = vdupq_n_s32(kMagicBits);
#pragma GCC unroll 16
      for (int step = 0; step < kSteps; ++step) {
        uint8x16_t a[NP][kOperands];
#pragma GCC unroll 4
        for (int n = 0; n < NP; ++n) operands<kNibbles>(w[n / 2] + step * 32 + n % 2 * 16, a[n]);
#pragma GCC unroll 2
        for (int o = 0; o < kOperands; ++o)
#pragma GCC unroll 4
          for (int m = 0; m < MP; ++m) {
            const int8x16_t xv = vld1q_s8(q + m * pair_bytes + (step * kOperands + o) * 16);
#pragma GCC unroll 4
            for (int n = 0; n < NP; ++n) d[n][m] = vusmmlaq_s32(d[n][m], a[n][o], xv);
          }
      }
      float32x4_t s[NP];
#pragma GCC unroll 2
      for (int b = 0; b < NB; ++b) {
        const float32x4_t four = load_scales(header[b], g);
        s[2 * b] = vzip1q_f32(four, four);
        s[2 * b + 1] = vzip2q_f32(four, four);
        w[b] += kSteps * 32;
      }
#pragma GCC unroll 4
      for (int m = 0; m < MP; ++m) {
        const float32x4_t scale = vld1q_f32(scales + m * pair_scales);
#pragma GCC unroll 4
        for (int n = 0; n < NP; ++n)
          p[n][m] = vfmaq_f32(p[n][m], vsubq_f32(vreinterpretq_f32_s32(d[n][m]), vdupq_n_f32(kMagic)), vmulq_f32(s[n], scale));
      }
      q += kGroup * 2;
      scales += 4;
    }
  }
  for (int n = 0; n < NP; ++n)
    for (int m = 0; m < MP; ++m) out[n * MP + m] = p[n][m];
}

// Adds c of one block to its tiles, [2][MP].
template <int kGroupBytes, class Scale, int MP>
[[gnu::noinline]] void add_biases(const uint8_t* w, const QuantisedAct& x, int32_t pair, int32_t groups, float32x4_t* out) {
  float32x4_t upper[MP][2], lower[MP][2];
  for (int m = 0; m < MP; ++m)
    for (int n = 0; n < 2; ++n) upper[m][n] = lower[m][n] = vdupq_n_f32(0);
  const int64_t pair_sums = static_cast<int64_t>(x.blocks) * 16;
  const uint16_t* sums = x.sums + pair * pair_sums;
  for (int32_t g = 0; g < groups; g += 4, sums += 16, w += kHeaderBytes<Scale> + 4 * kBlockRows * kGroupBytes)
#pragma GCC unroll 4
    for (int m = 0; m < MP; ++m)
      add_bias_products<Scale>(w, load_bf16(sums + m * pair_sums), load_bf16(sums + m * pair_sums + 8), upper[m], lower[m]);
  for (int n = 0; n < 2; ++n)
    for (int m = 0; m < MP; ++m) out[n * MP + m] = vaddq_f32(out[n * MP + m], vaddq_f32(upper[m][n], lower[m][n]));
}

// Where results go.
struct Output {
  float* y;
  int64_t ldy;
  int32_t rows;          // of x
  int32_t n_end;

  // The tiles of one block, [2][MP], for outputs n … n + 3 and the rows of the pairs from `pair`.
  template <int MP>
  void store(const float32x4_t* tile, int32_t n, int32_t pair) const {
    for (int m = 0; m < MP; ++m) {
      const float32x4_t first = vuzp1q_f32(tile[m], tile[MP + m]), second = vuzp2q_f32(tile[m], tile[MP + m]);
      store_row(first, n, 2 * (pair + m));
      if (2 * (pair + m) + 1 < rows) store_row(second, n, 2 * (pair + m) + 1);
    }
  }
  void store_row(float32x4_t four, int32_t n, int32_t row) const {
    float* at = y + static_cast<int64_t>(row) * ldy + n;
    if (n + 4 <= n_end) return vst1q_f32(at, four);
    float out[4];
    vst1q_f32(out, four);
    for (int i = 0; i < n_end - n; ++i) at[i] = out[i];
  }
};

template <bool kNibbles, int kGroup, class Scale, int NB, int MP>
inline void tile(const uint8_t* const* blocks, const QuantisedAct& x, int32_t pair, int32_t groups, int32_t n, const Output& output) {
  constexpr int kGroupBytes = kNibbles ? kGroup / 2 : kGroup;
  float32x4_t out[2 * NB * MP];
  tiles<kNibbles, kGroup, Scale, NB, MP>(blocks, x, pair, groups, out);
  for (int b = 0; b < NB; ++b) {
    add_biases<kGroupBytes, Scale, MP>(blocks[b], x, pair, groups, out + 2 * b * MP);
    output.store<MP>(out + 2 * b * MP, n + b * kBlockRows, pair);
  }
}

// 4-bit blocks as 8-bit ones, for rows that need many tiles.
template <int kGroup, class Scale>
void unpack_block(const uint8_t* w, int32_t groups, uint8_t* out) {
  for (int32_t left = groups; left > 0; left -= 4) {
    for (size_t i = 0; i < kHeaderBytes<Scale>; i += 16) vst1q_u8(out + i, vld1q_u8(w + i));
    w += kHeaderBytes<Scale>;
    out += kHeaderBytes<Scale>;
    const int32_t bytes = (left < 4 ? left : 4) * kGroup / 2 * kBlockRows;
    for (int32_t i = 0; i < bytes; i += 32, w += 32, out += 64) {
      uint8x16_t a[2], b[2];
      operands<true>(w, a);
      operands<true>(w + 16, b);
      for (int o = 0; o < 2; ++o) {
        vst1q_u8(out + o * 32, a[o]);
        vst1q_u8(out + o * 32 + 16, b[o]);
      }
    }
  }
}

// Rows pass over a block in tiles of four pairs, or what is left.
template <bool kNibbles, int kGroup, class Scale>
void narrow(const uint8_t* block, const QuantisedAct& x, int32_t groups, int32_t n, const Output& output) {
  const int32_t pairs = (output.rows + 1) / 2;
  for (int32_t pair = 0; pair < pairs;) {
    const int32_t left = pairs - pair;
    if (left >= 4) tile<kNibbles, kGroup, Scale, 1, 4>(&block, x, pair, groups, n, output), pair += 4;
    else if (left >= 2) tile<kNibbles, kGroup, Scale, 1, 2>(&block, x, pair, groups, n, output), pair += 2;
    else tile<kNibbles, kGroup, Scale, 1, 1>(&block, x, pair, groups, n, output), pair += 1;
  }
}

// Many rows pass over two blocks, so that each of their pairs is loaded half as often.
template <int kGroup, class Scale>
void wide(const uint8_t* const (&blocks)[2], const QuantisedAct& x, int32_t groups, int32_t n, const Output& output) {
  const int32_t pairs = (output.rows + 1) / 2;
  int32_t pair = 0;
  for (; pair + 2 <= pairs; pair += 2) tile<false, kGroup, Scale, 2, 2>(blocks, x, pair, groups, n, output);
  if (pair < pairs) tile<false, kGroup, Scale, 2, 1>(blocks, x, pair, groups, n, output);
}

// From here on two blocks at a time, 4-bit ones unpacked first.
constexpr int32_t kWideRows = 17;

template <bool kNibbles, int kGroup, class Scale>
void run(const Matrix& w, const Act& act, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  const QuantisedAct x = quantised_parts(act);
  const int32_t groups = w.cols / kGroup;
  const Output output{y, ldy, act.shape.rows, n_end};
  const size_t bytes = block_bytes(w);
  const auto* blocks = static_cast<const uint8_t*>(w.values);
  const auto block_at = [&](int32_t n) { return blocks + static_cast<size_t>(n / kBlockRows) * bytes; };
  int32_t n = n_begin;
  if (act.shape.rows >= kWideRows) {
    constexpr size_t kUnpackedBytes = kBlockRows * kMaxColumns + (kMaxColumns / kGroup / 4 + 1) * kHeaderBytes<Scale>;
    uint8_t unpacked[kNibbles ? 2 : 1][kNibbles ? kUnpackedBytes : 1];
    for (; n + 2 * kBlockRows <= n_end; n += 2 * kBlockRows) {
      const uint8_t* two[2] = {block_at(n), block_at(n + kBlockRows)};
      if constexpr (kNibbles) {
        for (int b = 0; b < 2; ++b) {
          unpack_block<kGroup, Scale>(two[b], groups, unpacked[b]);
          two[b] = unpacked[b];
        }
      }
      wide<kGroup, Scale>(two, x, groups, n, output);
    }
  }
  for (; n < n_end; n += kBlockRows) {
    if (act.shape.rows == 1) output.store_row(single<kNibbles, kGroup, Scale>(block_at(n), x, groups), n, 0);
    else narrow<kNibbles, kGroup, Scale>(block_at(n), x, groups, n, output);
  }
}

template <bool kNibbles, int kGroup>
void run(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  if (w.scale_dtype == DType::bf16) return run<kNibbles, kGroup, uint16_t>(w, x, y, ldy, n_begin, n_end);
  run<kNibbles, kGroup, float>(w, x, y, ldy, n_begin, n_end);
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
