// y [rows, N] = x [rows, K] · W [N, K]^T, W in affine groups of 8 or 4 bits, x in 8 bits with a scale per row and
// group.
//
// For one output n and row r, with D_g = Σ q_w q_x over group g, exact in int32:
//   p = Σ over g, ascending, of fma(D_g, s[n,g] * a[r,g], p)
//   c = Σ over g of b[n,g] * (a[r,g] Σ q_x), by the bf16 matrix instruction, upper and lower parts of the sums apart
//   y = p + c
// with s, b the group's scale and bias and a the row's scale. No operation mixes outputs or rows, so every tile shape
// gives the same bits.
// Weights as packed.h lays them out, rows in pairs as act.h does. One row: dot-product instructions on four outputs.
// More: the 2x8 · 8x2 matrix instruction on 2x2 tiles {n0 r0, n0 r1, n1 r0, n1 r1}. Bound: with few rows the bytes of
// W. Vector operations per 272 bytes of q8 in groups of 64: one row 23, two 26, four 49, eight 95; q4 needs 16 more per
// 144 bytes. With many rows the vector units: one matrix instruction per 32 products, plus 3.5 operations per tile and
// group.
#include <arm_neon.h>

#include "kernels/neon/act.h"
#include "kernels/neon/group_sums.h"
#include "kernels/neon/matmul.h"
#include "kernels/neon/packed.h"
#include "kernels/neon/packed_format.h"

namespace paceline::kernels::neon {
namespace {

float32x4_t widen(uint16x4_t bf16) { return vreinterpretq_f32_u32(vshll_n_u16(bf16, 16)); }
// The scales of a block's four rows for one group of a header's four.
template <class Scale>
float32x4_t load_scales(const uint8_t* header, int32_t g) {
  if constexpr (sizeof(Scale) == sizeof(float)) return vld1q_f32(reinterpret_cast<const float*>(header) + 4 * g);
  return widen(vld1_u16(reinterpret_cast<const uint16_t*>(header) + 4 * g));
}
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
inline void add_bias_products(const uint8_t* header, bfloat16x8_t x_upper, bfloat16x8_t x_lower,
                              float32x4_t (&upper)[2], float32x4_t (&lower)[2]) {
  const auto* biases = reinterpret_cast<const uint16_t*>(header + kHeaderBytes<Scale> / 2);
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    const bfloat16x8_t b = load_bf16(biases + 8 * i);
    upper[i] = vbfmmlaq_f32(upper[i], b, x_upper);
    lower[i] = vbfmmlaq_f32(lower[i], b, x_lower);
    if constexpr (sizeof(Scale) == sizeof(float))
      lower[i] = vbfmmlaq_f32(lower[i], load_bf16(biases + 16 + 8 * i), x_upper);
  }
}

// One row against a block: its four outputs. Both rows of the pair are the same row, so a product of 16 bytes has two
// sums of each output.
template <bool kNibbles, int kGroup, class Scale>
[[gnu::noinline]] float32x4_t single(const uint8_t* w, const QuantisedAct& x, int32_t groups) {
  constexpr int kSteps = kGroup / (kNibbles ? 16 : 8);
  constexpr int kOperands = kNibbles ? 2 : 1;
  const int8_t* q = x.q;
  const float* scales = x.scales;
  const uint16_t* sums = x.sums;
  float32x4_t p = vdupq_n_f32(0), upper[2], lower[2];
  for (int i = 0; i < 2; ++i) upper[i] = lower[i] = vdupq_n_f32(0);
  // All headers before all values: the processor follows one run of memory better than two.
  const uint8_t *header = w, *values = w + headers_bytes<Scale>(groups);
  for (; w < values; w += kHeaderBytes<Scale>, sums += 16)
    add_bias_products<Scale>(w, load_bf16(sums), load_bf16(sums + 8), upper, lower);
  for (int32_t left = groups; left > 0; left -= 4, header += kHeaderBytes<Scale>) {
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
      const float32x4_t scale = vmulq_f32(load_scales<Scale>(header, g), vld1q_f32(scales));
      p = vfmaq_f32(p, vcvtq_f32_s32(vpaddq_s32(d0, d1)), scale);
      scales += 4;
    }
  }
  return vaddq_f32(p, vuzp1q_f32(vaddq_f32(upper[0], lower[0]), vaddq_f32(upper[1], lower[1])));
}

// c of a block's tiles, [2][MP].
template <class Scale, int MP>
[[gnu::always_inline]] inline void bias_products(const uint8_t* header, const QuantisedAct& x, int32_t pair,
                                                 int32_t groups, float32x4_t (&out)[2][MP]) {
  const uint16_t* sums = x.sums + static_cast<int64_t>(pair) * x.blocks * 16;
  float32x4_t upper[MP][2], lower[MP][2];
  for (int m = 0; m < MP; ++m)
    for (int n = 0; n < 2; ++n) upper[m][n] = lower[m][n] = vdupq_n_f32(0);
  for (int32_t g = 0; g < groups; g += 4, sums += 16 * MP, header += kHeaderBytes<Scale>)
#pragma GCC unroll 4
    for (int m = 0; m < MP; ++m)
      add_bias_products<Scale>(header, load_bf16(sums + m * 16), load_bf16(sums + m * 16 + 8), upper[m], lower[m]);
  for (int n = 0; n < 2; ++n)
    for (int m = 0; m < MP; ++m) out[n][m] = vaddq_f32(upper[m][n], lower[m][n]);
}

// Of one or two row pairs two groups' sums run side by side: those of one are too few to keep the vector units busy
// while each waits for its last addition.
constexpr int kSideBySide = 2;

// Adds the products of G groups with MP row pairs to p, [2][MP] tiles. w, header, q, scales: of the first group.
template <bool kNibbles, int kGroup, class Scale, int MP, int G>
[[gnu::always_inline]] inline void add_groups(const uint8_t* w, const uint8_t* header, const int8_t* q,
                                              const float* scales, float32x4_t (&p)[2][MP]) {
  constexpr int kOperands = kNibbles ? 2 : 1;
  constexpr int kSteps = kGroup / (8 * kOperands);
  int32x4_t d[G][2][MP];
#pragma GCC unroll 4
  for (int g = 0; g < G; ++g)
#pragma GCC unroll 4
    for (int m = 0; m < MP; ++m) d[g][0][m] = d[g][1][m] = vdupq_n_s32(kMagicBits);
#pragma GCC unroll 4
  for (int step = 0; step < kSteps; ++step)
#pragma GCC unroll 4
    for (int g = 0; g < G; ++g) {
      const int at = g * kSteps + step;
      uint8x16_t a[kOperands], b[kOperands];
      operands<kNibbles>(w + at * 32, a);
      operands<kNibbles>(w + at * 32 + 16, b);
#pragma GCC unroll 2
      for (int o = 0; o < kOperands; ++o)
#pragma GCC unroll 4
        for (int m = 0; m < MP; ++m) {
          const int8x16_t xv = vld1q_s8(q + ((at * kOperands + o) * MP + m) * 16);
          d[g][0][m] = vusmmlaq_s32(d[g][0][m], a[o], xv);
          d[g][1][m] = vusmmlaq_s32(d[g][1][m], b[o], xv);
        }
    }
#pragma GCC unroll 4
  for (int g = 0; g < G; ++g) {
    const float32x4_t four = load_scales<Scale>(header, g);
    const float32x4_t s[2] = {vzip1q_f32(four, four), vzip2q_f32(four, four)};
#pragma GCC unroll 4
    for (int m = 0; m < MP; ++m) {
      const float32x4_t scale = vld1q_f32(scales + (g * MP + m) * 4);
#pragma GCC unroll 2
      for (int n = 0; n < 2; ++n)
        p[n][m] = vfmaq_f32(p[n][m], vsubq_f32(vreinterpretq_f32_s32(d[g][n][m]), vdupq_n_f32(kMagic)),
                            vmulq_f32(s[n], scale));
    }
  }
}

// Where results go.
struct Output {
  float* y;
  int64_t ldy;
  int32_t rows;  // of x
  int32_t n_end;

  // The tiles of one block for outputs n … n + 3 and the rows of the pairs from `pair`. One question per block, and
  // none per row: an odd last row stands twice in its pair, so that its second result is the first one again.
  template <int MP>
  void store(const float32x4_t (&tile)[2][MP], int32_t n, int32_t pair) const {
    const bool whole = n + 4 <= n_end;
    float* at = y + static_cast<int64_t>(2 * pair) * ldy + n;
#pragma GCC unroll 4
    for (int m = 0; m < MP; ++m, at += 2 * ldy) {
      const float32x4_t first = vuzp1q_f32(tile[0][m], tile[1][m]), second = vuzp2q_f32(tile[0][m], tile[1][m]);
      float* const next = 2 * (pair + m) + 1 < rows ? at + ldy : at;
      if (whole) [[likely]] {
        vst1q_f32(at, first);
        vst1q_f32(next, second);
      } else {
        store_some(at, first, n_end - n);
        store_some(next, second, n_end - n);
      }
    }
  }
  void store_row(float32x4_t four, int32_t n, int32_t row) const {
    float* at = y + static_cast<int64_t>(row) * ldy + n;
    if (n + 4 <= n_end) return vst1q_f32(at, four);
    store_some(at, four, n_end - n);
  }
  static void store_some(float* at, float32x4_t four, int32_t count) {
    float out[4];
    vst1q_f32(out, four);
    for (int i = 0; i < count; ++i) at[i] = out[i];
  }
};

// The first number of a tile's rows and scales.
struct TilePlace {
  const int8_t* q;
  const float* scales;
};

// A block's values times one or two row pairs.
template <bool kNibbles, int kGroup, class Scale, int MP>
[[gnu::always_inline]] inline void few_pairs(const uint8_t* block, TilePlace x, int32_t groups,
                                             float32x4_t (&p)[2][MP]) {
  const uint8_t *header = block, *w = block + headers_bytes<Scale>(groups);
  for (int m = 0; m < MP; ++m) p[0][m] = p[1][m] = vdupq_n_f32(0);
  const auto next = [&]<int G>(uint32_t g) {
    const uint8_t* own = header + g / 4 * kHeaderBytes<Scale> + g % 4 * 4 * sizeof(Scale);
    add_groups<kNibbles, kGroup, Scale, MP, G>(w, own, x.q, x.scales, p);
    w += G * (4 * kGroup / (kNibbles ? 2 : 1));
    x.q += G * kGroup * 2 * MP;
    x.scales += G * 4 * MP;
  };
  uint32_t g = 0;
#pragma GCC unroll 1
  for (; g + kSideBySide <= static_cast<uint32_t>(groups); g += kSideBySide) next.template operator()<kSideBySide>(g);
  if (g < static_cast<uint32_t>(groups)) next.template operator()<1>(g);
}

// The same for three or four.
template <bool kNibbles, int kGroup, class Scale, int MP>
[[gnu::always_inline]] inline void more_pairs(const uint8_t* block, TilePlace x, int32_t groups,
                                              float32x4_t (&p)[2][MP]) {
  constexpr int kBytes = 4 * kGroup / (kNibbles ? 2 : 1);
  const uint8_t *header = block, *w = block + headers_bytes<Scale>(groups);
  const uint8_t* const last = w + static_cast<size_t>(groups - 1) * kBytes;
  // Behind the last group its own values are read once more: another block need not follow.
  const auto behind = [&] { return w < last ? w + kBytes : w; };
  GroupSums<kNibbles, kGroup, MP> sums(w, x.q, x.scales);
  sums.template multiply<true>(w, behind());
#pragma GCC unroll 1
  for (uint32_t g = 1; g < static_cast<uint32_t>(groups); ++g) {
    w = behind();
    sums.template multiply<false>(w, behind(), load_scales<Scale>(header, 0));
    header += g % 4 == 0 ? kHeaderBytes<Scale> - 12 * sizeof(Scale) : 4 * sizeof(Scale);
  }
  sums.finish(load_scales<Scale>(header, 0), p);
}

// Outputs [n, n_end) of MP row pairs; block: the first of theirs. A function of its own, so that sums keep to the
// registers.
template <bool kNibbles, int kGroup, class Scale, int MP>
[[gnu::noinline]] void tiles(const uint8_t* block, size_t block_bytes, const QuantisedAct& x, int32_t pair,
                             int32_t groups, int32_t n, int32_t n_end, const Output& output) {
  const auto before = static_cast<int64_t>(pair) * groups;
  const TilePlace place{x.q + before * kGroup * 2, x.scales + before * 4};
  for (; n < n_end; n += kBlockRows, block += block_bytes) {
    float32x4_t c[2][MP], p[2][MP];
    bias_products<Scale, MP>(block, x, pair, groups, c);
    if constexpr (MP <= 2)
      few_pairs<kNibbles, kGroup, Scale, MP>(block, place, groups, p);
    else
      more_pairs<kNibbles, kGroup, Scale, MP>(block, place, groups, p);
#pragma GCC unroll 4
    for (int m = 0; m < MP; ++m) p[0][m] = vaddq_f32(p[0][m], c[0][m]), p[1][m] = vaddq_f32(p[1][m], c[1][m]);
    output.store<MP>(p, n, pair);
  }
}

// All row pairs pass over blocks, tile by tile.
template <bool kNibbles, int kGroup, class Scale>
void pass(const uint8_t* block, size_t block_bytes, const QuantisedAct& x, int32_t pairs, int32_t groups, int32_t n,
          int32_t n_end, const Output& output) {
  int32_t pair = 0;
  const auto next = [&]<int MP>() {
    tiles<kNibbles, kGroup, Scale, MP>(block, block_bytes, x, pair, groups, n, n_end, output);
    pair += MP;
  };
  while (pair < pairs) switch (row_tile(pair, pairs).pairs) {
      case 1: next.template operator()<1>(); break;
      case 2: next.template operator()<2>(); break;
      case 3: next.template operator()<3>(); break;
      default: next.template operator()<4>(); break;
    }
}

// With many rows: so many outputs stay in the second cache while a tile's rows stay in the first. With two tiles few
// outputs at a time: the next come from memory while both pass.
constexpr int32_t kCachedOutputs = 128;
constexpr int32_t kTwoTilesOutputs = 16;

template <bool kNibbles, int kGroup, class Scale>
void run(const Matrix& w, const Act& act, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  const QuantisedAct x = quantised_parts(act);
  const int32_t groups = w.cols / kGroup, pairs = (act.shape.rows + 1) / 2;
  const Output output{y, ldy, act.shape.rows, n_end};
  const size_t bytes = block_bytes(w);
  const auto* blocks = static_cast<const uint8_t*>(w.values);
  const auto block_at = [&](int32_t n) { return blocks + static_cast<size_t>(n / kBlockRows) * bytes; };
  if (act.shape.rows == 1) {
    for (int32_t n = n_begin; n < n_end; n += kBlockRows)
      output.store_row(single<kNibbles, kGroup, Scale>(block_at(n), x, groups), n, 0);
    return;
  }
  const int32_t cached = pairs > 4 && pairs <= 8 ? kTwoTilesOutputs : kCachedOutputs;
  for (int32_t first = n_begin; first < n_end; first += cached) {
    const int32_t last = first + cached < n_end ? first + cached : n_end;
    pass<kNibbles, kGroup, Scale>(block_at(first), bytes, x, pairs, groups, first, last, output);
  }
}

}  // namespace

void matmul_quantised(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  with_format(
      w, [&]<bool kNibbles, int kGroup, class Scale>() { run<kNibbles, kGroup, Scale>(w, x, y, ldy, n_begin, n_end); });
}

}  // namespace paceline::kernels::neon
