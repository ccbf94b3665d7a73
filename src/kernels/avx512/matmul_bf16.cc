// y [rows, N] = x [rows, K] · W [N, K]^T, both in bf16, by the pairwise dot product (VDPBF16PS).
//
// Layout: W as in the checkpoint; x in rows of bf16, padded to 32 columns (act.h). An instruction takes 32 columns of
// one row and one output and adds to 16 float32 lanes.
// Order of one sum: lane i takes columns 2i and 2i + 1 of every 32, ascending; the lanes are folded last (Vec::sum,
// four at a time). Tiles only decide how many sums stand side by side.
//
// Bound: with few rows the bytes of W (one row needs 1 load and 1 operation per 64 bytes); with many rows the
// instruction, 32 products each and half a load.
#include <immintrin.h>

#include "kernels/avx512/act.h"
#include "kernels/avx512/matmul.h"
#include "kernels/avx512/vec.h"

namespace paceline::kernels::avx512 {
namespace {

// Outputs whose weights stay in the second cache while all rows pass over them.
constexpr int32_t kBlock = kOutputTile;

__m512bh load(const uint16_t* p) { return reinterpret_cast<__m512bh>(_mm512_loadu_si512(p)); }

// NR outputs times MR rows, all of K.
template <int NR, int MR>
struct Tile {
  const uint16_t* w[NR];
  const uint16_t* x;  // first row
  int64_t x_stride;   // elements between rows
  int32_t cols;

  void run(float (&out)[MR][NR]) const {
    __m512 sums[NR][MR];
    for (auto& row : sums)
      for (auto& sum : row) sum = _mm512_setzero_ps();
    int32_t k = 0;
    for (; k + kBf16Columns <= cols; k += kBf16Columns) {
      __m512bh xs[MR];
      for (int m = 0; m < MR; ++m) xs[m] = load(x + m * x_stride + k);
      for (int n = 0; n < NR; ++n) {
        const __m512bh ws = load(w[n] + k);
        for (int m = 0; m < MR; ++m) sums[n][m] = _mm512_dpbf16_ps(sums[n][m], ws, xs[m]);
      }
    }
    if (k < cols) {
      for (int n = 0; n < NR; ++n) {
        // Missing columns are not read; x has zeros there.
        const auto ws = reinterpret_cast<__m512bh>(_mm512_maskz_loadu_epi16((1u << (cols - k)) - 1, w[n] + k));
        for (int m = 0; m < MR; ++m) sums[n][m] = _mm512_dpbf16_ps(sums[n][m], ws, load(x + m * x_stride + k));
      }
    }
    static_assert(NR % 4 == 0);
    for (int m = 0; m < MR; ++m)
      for (int n = 0; n < NR; n += 4) Vec::sum4(sums[n][m], sums[n + 1][m], sums[n + 2][m], sums[n + 3][m], out[m] + n);
  }
};

// Outputs [n_begin, n_end) for rows [r, r + MR), as many side by side as the registers hold sums.
template <int MR>
void rows(const Matrix& w, const Act& x, int32_t r, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  constexpr int NR = MR == 1 ? 8 : 4;
  const auto* values = static_cast<const uint16_t*>(w.values);
  Tile<NR, MR> tile;
  tile.x_stride = bf16_stride(w.cols);
  tile.x = static_cast<const uint16_t*>(x.bytes) + r * tile.x_stride;
  tile.cols = w.cols;
  for (int32_t n = n_begin; n < n_end; n += NR) {
    for (int i = 0; i < NR; ++i) tile.w[i] = values + (n + i < n_end ? n + i : n_end - 1) * w.stride();
    float out[MR][NR];
    tile.run(out);
    for (int i = 0; i < NR && n + i < n_end; ++i)
      for (int m = 0; m < MR; ++m) y[(r + m) * ldy + n + i] = out[m][i];
  }
}

}  // namespace

void matmul_bf16(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  for (int32_t n = n_begin; n < n_end; n += kBlock) {
    const int32_t end = n + kBlock < n_end ? n + kBlock : n_end;
    int32_t r = 0;
    for (; r + 4 <= x.shape.rows; r += 4) rows<4>(w, x, r, y, ldy, n, end);
    for (; r + 2 <= x.shape.rows; r += 2) rows<2>(w, x, r, y, ldy, n, end);
    for (; r < x.shape.rows; ++r) rows<1>(w, x, r, y, ldy, n, end);
  }
}

}  // namespace paceline::kernels::avx512
