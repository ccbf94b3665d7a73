// y [rows, N] = x [rows, K] · W [N, K]^T, both in bf16, by the 2x4 · 4x2 matrix instruction (BFMMLA).
//
// Layout: W as in the checkpoint; x in row pairs (act.h). An instruction multiplies 4 columns of 2 rows of x with 4
// columns of 2 rows of W, and adds to a 2x2 tile of float32 sums; each sum sees only its own row and output.
// Order of one sum: columns k mod 8 < 4 in one chain, the others in a second one, ascending; the two are added last.
// Bound: with few rows the bytes of W (2 per weight; 2 loads, 2 permutes and 2 instructions per 16 weights and row pair,
// so one row needs 4 vector operations per 32 bytes); with many rows the matrix instruction.
#include <arm_neon.h>

#include "kernels/neon/matmul.h"

namespace paceline::kernels::neon {
namespace {

bfloat16x8_t as_bf16(uint64x2_t v) { return vreinterpretq_bf16_u64(v); }

// NP output pairs times MP row pairs, all of K.
template <int NP, int MP>
struct Tile {
  const uint16_t* w[2 * NP];   // rows of W
  const uint16_t* x;           // first row pair
  int64_t x_stride;            // elements between row pairs
  int32_t cols;
  float32x4_t sums[NP][MP][2];

  void step(const uint64x2_t (&rows)[2 * NP], const uint16_t* xk) {
    bfloat16x8_t low[NP], high[NP];
    for (int n = 0; n < NP; ++n) {
      low[n] = as_bf16(vtrn1q_u64(rows[2 * n], rows[2 * n + 1]));
      high[n] = as_bf16(vtrn2q_u64(rows[2 * n], rows[2 * n + 1]));
    }
    for (int m = 0; m < MP; ++m) {
      const auto x0 = vreinterpretq_bf16_u16(vld1q_u16(xk + m * x_stride));
      const auto x1 = vreinterpretq_bf16_u16(vld1q_u16(xk + m * x_stride + 8));
      for (int n = 0; n < NP; ++n) {
        sums[n][m][0] = vbfmmlaq_f32(sums[n][m][0], x0, low[n]);
        sums[n][m][1] = vbfmmlaq_f32(sums[n][m][1], x1, high[n]);
      }
    }
  }

  void run() {
    for (auto& row : sums)
      for (auto& pair : row) pair[0] = pair[1] = vdupq_n_f32(0);
    uint64x2_t rows[2 * NP];
    int32_t k = 0;
    for (; k + 8 <= cols; k += 8) {
      for (int i = 0; i < 2 * NP; ++i) rows[i] = vreinterpretq_u64_u16(vld1q_u16(w[i] + k));
      step(rows, x + k * 2);
    }
    if (k == cols) return;
    for (int i = 0; i < 2 * NP; ++i) {
      uint16_t padded[8] = {};
      for (int32_t j = 0; j < cols - k; ++j) padded[j] = w[i][k + j];
      rows[i] = vreinterpretq_u64_u16(vld1q_u16(padded));
    }
    step(rows, x + k * 2);
  }
};

// Outputs [n, n + 2 * NP), those at n_end and beyond thrown away, for 2 * MP rows, those at `rows` and beyond thrown away.
template <int NP, int MP>
void tile(const Matrix& w, const Act& x, int32_t pair, float* y, int64_t ldy, int32_t n, int32_t n_end) {
  Tile<NP, MP> t;
  const auto* values = static_cast<const uint16_t*>(w.values);
  for (int i = 0; i < 2 * NP; ++i) t.w[i] = values + static_cast<int64_t>(n + i < n_end ? n + i : n_end - 1) * w.cols;
  t.x_stride = (w.cols + 7) / 8 * 16;
  t.x = static_cast<const uint16_t*>(x.bytes) + pair * t.x_stride;
  t.cols = w.cols;
  t.run();
  for (int p = 0; p < NP; ++p) {
    for (int m = 0; m < MP; ++m) {
      float out[4];
      vst1q_f32(out, vaddq_f32(t.sums[p][m][0], t.sums[p][m][1]));
      for (int r = 0; r < 2; ++r) {
        const int32_t row = 2 * (pair + m) + r;
        if (row >= x.shape.rows) break;
        for (int i = 0; i < 2; ++i)
          if (n + 2 * p + i < n_end) y[row * ldy + n + 2 * p + i] = out[2 * r + i];
      }
    }
  }
}

// All outputs of the range for MP row pairs; as many outputs side by side as the registers hold sums.
template <int MP>
void rows(const Matrix& w, const Act& x, int32_t pair, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  constexpr int NP = MP == 1 ? 4 : (MP <= 4 ? 2 : 1);
  for (int32_t n = n_begin; n < n_end; n += 2 * NP) tile<NP, MP>(w, x, pair, y, ldy, n, n_end);
}

}  // namespace

void matmul_bf16(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  const int32_t pairs = (x.shape.rows + 1) / 2;
  // Blocks of outputs whose weights stay in the first cache while all rows pass over them.
  const int32_t block = pairs > 8 ? 8 : n_end - n_begin;
  for (int32_t n = n_begin; n < n_end; n += block) {
    const int32_t end = n + block < n_end ? n + block : n_end;
    for (int32_t pair = 0; pair < pairs;) {
      const int32_t left = pairs - pair;
      if (left >= 8) rows<8>(w, x, pair, y, ldy, n, end), pair += 8;
      else if (left >= 4) rows<4>(w, x, pair, y, ldy, n, end), pair += 4;
      else if (left >= 2) rows<2>(w, x, pair, y, ldy, n, end), pair += 2;
      else rows<1>(w, x, pair, y, ldy, n, end), pair += 1;
    }
  }
}

}  // namespace paceline::kernels::neon
