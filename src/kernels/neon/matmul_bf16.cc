// y [rows, N] = x [rows, K] · W [N, K]^T, both in bf16, by the 2x4 · 4x2 matrix instruction (BFMMLA).
//
// Layout: W as in the checkpoint; x in row pairs (act.h). An instruction multiplies 4 columns of 2 rows of x with 4
// columns of 2 rows of W, and adds to a 2x2 tile of float32 sums; each sum sees only its own row and output.
// Order of one sum: columns k mod 8 < 4 in one chain, the others in a second one, ascending; the two are added last.
// Bound: with few rows the bytes of W (one row needs 4 vector operations per 32 bytes); with many rows the vector
// units: one matrix instruction per 16 products, and where W is unpacked once for many tiles nothing else.
#include <arm_neon.h>

#include "kernels/neon/matmul.h"
#include "kernels/neon/page_bf16.h"
#include "kernels/neon/streams.h"

namespace paceline::kernels::neon {
namespace {

bfloat16x8_t as_bf16(uint64x2_t v) { return vreinterpretq_bf16_u64(v); }

// 8 columns of two rows of W as two operands of 4 columns each.
struct Operands {
  bfloat16x8_t low, high;
  Operands() = default;
  Operands(const uint16_t* w0, const uint16_t* w1) {
    const auto a = vreinterpretq_u64_u16(vld1q_u16(w0)), b = vreinterpretq_u64_u16(vld1q_u16(w1));
    low = as_bf16(vtrn1q_u64(a, b));
    high = as_bf16(vtrn2q_u64(a, b));
  }
  explicit Operands(const uint16_t* packed)
      : low(vreinterpretq_bf16_u16(vld1q_u16(packed))), high(vreinterpretq_bf16_u16(vld1q_u16(packed + 8))) {}
};

template <int NP>
struct TileInput {
  const uint16_t* w[2 * NP];
  const uint16_t* packed;  // operands of the 2 * NP rows, [columns / 8][NP][16], or none
  const uint16_t* x;       // first row pair
  int64_t x_stride;        // elements between row pairs
  int32_t cols;
};

// Tiles [NP][MP] of 2x2 results {r0 n0, r0 n1, r1 n0, r1 n1}. A function of its own, so that sums keep to the
// registers.
template <int NP, int MP, bool kPacked>
[[gnu::noinline]] void dots(const TileInput<NP>& in, float32x4_t* out) {
  float32x4_t low[NP][MP], high[NP][MP];
  for (int n = 0; n < NP; ++n)
    for (int m = 0; m < MP; ++m) low[n][m] = high[n][m] = vdupq_n_f32(0);
  const auto step = [&](const Operands(&w)[NP], const uint16_t* x) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int m = 0; m < MP; ++m) {
      const auto x0 = vreinterpretq_bf16_u16(vld1q_u16(x + m * in.x_stride));
      const auto x1 = vreinterpretq_bf16_u16(vld1q_u16(x + m * in.x_stride + 8));
#pragma GCC unroll 4
      for (int n = 0; n < NP; ++n) {
        low[n][m] = vbfmmlaq_f32(low[n][m], x0, w[n].low);
        high[n][m] = vbfmmlaq_f32(high[n][m], x1, w[n].high);
      }
    }
  };
  Operands w[NP];
  int32_t k = 0;
  for (; k + 8 <= in.cols; k += 8) {
#pragma GCC unroll 4
    for (int n = 0; n < NP; ++n)
      w[n] = kPacked ? Operands(in.packed + (k / 8 * NP + n) * 16) : Operands(in.w[2 * n] + k, in.w[2 * n + 1] + k);
    step(w, in.x + k * 2);
  }
  if (k < in.cols) {
    for (int n = 0; n < NP; ++n) {
      uint16_t padded[2][8] = {};
      for (int r = 0; r < 2; ++r)
        for (int32_t i = 0; i < in.cols - k; ++i) padded[r][i] = in.w[2 * n + r][k + i];
      w[n] = Operands(padded[0], padded[1]);
    }
    step(w, in.x + k * 2);
  }
  for (int n = 0; n < NP; ++n)
    for (int m = 0; m < MP; ++m) out[n * MP + m] = vaddq_f32(low[n][m], high[n][m]);
}

template <int NP>
void pack(const TileInput<NP>& in, uint16_t* out) {
  for (int32_t k = 0; k + 8 <= in.cols; k += 8)
    for (int n = 0; n < NP; ++n, out += 16) {
      const Operands w(in.w[2 * n] + k, in.w[2 * n + 1] + k);
      vst1q_u16(out, vreinterpretq_u16_bf16(w.low));
      vst1q_u16(out + 8, vreinterpretq_u16_bf16(w.high));
    }
}

// Results of a tile whose outputs are n[0] … : side by side, or one by one where they lie apart or the range ends.
// Outputs beyond the range repeat its last one, so storing them does no harm.
template <int NP>
inline void store_row(const float32x2_t (&pairs)[NP], const int32_t (&n)[2 * NP], bool side_by_side, float* row) {
  if (side_by_side) {
    for (int i = 0; i < NP; ++i) vst1_f32(row + n[0] + 2 * i, pairs[i]);
    return;
  }
  for (int i = 0; i < NP; ++i) {
    row[n[2 * i]] = vget_lane_f32(pairs[i], 0);
    row[n[2 * i + 1]] = vget_lane_f32(pairs[i], 1);
  }
}

template <int NP, int MP, bool kPacked>
void tile(TileInput<NP> in, const Act& x, int32_t pair, const int32_t (&n)[2 * NP], float* y, int64_t ldy) {
  in.x = static_cast<const uint16_t*>(x.bytes) + pair * in.x_stride;
  float32x4_t sums[NP * MP];
  dots<NP, MP, kPacked>(in, sums);
  bool side_by_side = true;
  for (int i = 1; i < 2 * NP; ++i) side_by_side = side_by_side && n[i] == n[0] + i;
  for (int m = 0; m < MP; ++m) {
    float* row = y + static_cast<int64_t>(2 * (pair + m)) * ldy;
    float32x2_t first[NP], second[NP];
    for (int i = 0; i < NP; ++i) first[i] = vget_low_f32(sums[i * MP + m]), second[i] = vget_high_f32(sums[i * MP + m]);
    store_row<NP>(first, n, side_by_side, row);
    if (2 * (pair + m) + 1 < x.shape.rows) store_row<NP>(second, n, side_by_side, row + ldy);
  }
}

// All rows over the range, NP output pairs at a time, in tiles of MP row pairs or what is left.
template <int NP, int MP, bool kPacked, bool kNeighbours>
void run(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  uint16_t packed[kPacked ? 2 * NP * kMaxColumns : 1];
  const int32_t pairs = (x.shape.rows + 1) / 2;
  const Streams<2 * NP, kNeighbours> streams(n_begin, n_end);
  TileInput<NP> in{};
  in.packed = packed;
  in.x_stride = static_cast<int64_t>(w.cols + 7) / 8 * 16;
  in.cols = w.cols;
  for (int32_t t = 0; t < streams.run; ++t) {
    int32_t n[2 * NP];
    for (int i = 0; i < 2 * NP; ++i) {
      n[i] = streams.row(t, i);
      in.w[i] = static_cast<const uint16_t*>(w.values) + n[i] * w.stride();
    }
    if constexpr (kPacked) pack(in, packed);
    for (int32_t pair = 0; pair < pairs;) {
      const int32_t left = pairs - pair;
      // The branches differ in the size of the tile.  NOLINTNEXTLINE(bugprone-branch-clone)
      if (left >= MP)
        tile<NP, MP, kPacked>(in, x, pair, n, y, ldy), pair += MP;
      else if (MP > 2 && left >= 2)
        tile<NP, (MP + 1) / 2, kPacked>(in, x, pair, n, y, ldy), pair += 2;
      else
        tile<NP, 1, kPacked>(in, x, pair, n, y, ldy), pair += 1;
    }
  }
}

}  // namespace

void matmul_bf16_page(const Matrix& w, const void* ahead, const Act& x, float* y, int64_t ldy, int32_t n_begin,
                      int32_t n_end) {
  n_begin = page_bf16(w, ahead, x, y, ldy, n_begin, n_end);
  if (n_begin < n_end) matmul_bf16(w, x, y, ldy, n_begin, n_end);
}

void matmul_bf16(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  const int32_t rows = x.shape.rows;
  if (rows <= 2) return run<4, 1, false, false>(w, x, y, ldy, n_begin, n_end);
  if (rows <= 16) return run<2, 4, false, false>(w, x, y, ldy, n_begin, n_end);
  run<4, 2, true, true>(w, x, y, ldy, n_begin, n_end);
}

}  // namespace paceline::kernels::neon
