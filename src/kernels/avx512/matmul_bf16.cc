// y [rows, N] = x [rows, K] · W [N, K]^T, both in bf16, by the pairwise dot product (VDPBF16PS); W also in E4M3, which
// bf16 holds.
//
// Layout: W as in the checkpoint; x in rows of bf16, padded to 32 columns (act.h). An instruction takes 32 columns of
// one row and one output and adds to 16 float32 lanes.
// Order of one sum: lane i takes columns 2i and 2i + 1 of every 32, ascending; the lanes are folded last (Vec::sum,
// four at a time). Tiles only decide how many sums stand side by side.
//
// Bound: with few rows the bytes of W (one row needs 1 load and 1 operation per 64 bytes); with many rows the
// instruction, 32 products each and half a load. Of E4M3 32 weights take six operations to widen, so that few rows are
// computed at once; for many they are widened in memory first (cpu_unpacked.h).
#include <immintrin.h>

#include "kernels/avx512/act.h"
#include "kernels/avx512/matmul.h"
#include "kernels/avx512/vec.h"
#include "kernels/lanes/ahead.h"

namespace paceline::kernels::avx512 {
namespace {

// Outputs whose weights stay in the second cache while all rows pass over them.
constexpr int32_t kBlock = kOutputTile;

__m512bh load(const uint16_t* p) { return reinterpret_cast<__m512bh>(_mm512_loadu_si512(p)); }

// How 32 weights of one output are read, or fewer, zeros standing in for the others, which are not touched.
struct ReadBf16 {
  using Element = uint16_t;
  // For MR rows: outputs side by side, as many as the registers hold sums.
  static constexpr int outputs(int rows) { return rows == 1 ? 8 : 4; }
  static constexpr int kRows = 4;
  static __m512bh load(const uint16_t* p) { return avx512::load(p); }
  static __m512bh load_some(const uint16_t* p, __mmask32 which) {
    return reinterpret_cast<__m512bh>(_mm512_maskz_loadu_epi16(which, p));
  }
};

struct ReadF8 {
  using Element = uint8_t;
  static constexpr int outputs(int rows) { return rows == 1 ? 8 : rows <= 4 ? 4 : 2; }
  static constexpr int kRows = 8;
  static __m512bh load(const uint8_t* p) { return widened(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); }
  static __m512bh load_some(const uint8_t* p, __mmask32 which) { return widened(_mm256_maskz_loadu_epi8(which, p)); }

 private:
  // The exponent's bias is another. Codes below 8 have none: multiples of 2^-9, each by itself.
  static __m512bh widened(__m256i codes) {
    const __m512i v = _mm512_cvtepi8_epi16(codes);
    const __m512i bits = _mm512_and_si512(_mm512_slli_epi16(v, 4), _mm512_set1_epi16(static_cast<int16_t>(0x87f0)));
    const __m512i small = _mm512_broadcast_i32x4(_mm_setr_epi16(
        0, 0x3b00 - 0x10, 0x3b80 - 0x20, 0x3bc0 - 0x30, 0x3c00 - 0x40, 0x3c20 - 0x50, 0x3c40 - 0x60, 0x3c60 - 0x70));
    const __mmask32 is_small = _mm512_testn_epi16_mask(v, _mm512_set1_epi16(0x78));
    const __m512i bias = _mm512_mask_permutexvar_epi16(_mm512_set1_epi16(0x3c00), is_small, v, small);
    return reinterpret_cast<__m512bh>(_mm512_add_epi16(bits, bias));
  }
};

// NR outputs times MR rows, all of K.
template <class Read, int NR, int MR>
struct Tile {
  const typename Read::Element* w[NR];
  const uint16_t* x;  // first row
  int64_t x_stride;   // elements between rows
  int32_t cols;

  // kAsks: while what is wanted next is asked for, a part for each 32 columns.
  template <bool kAsks>
  void run(lanes::Ahead& ahead, float (&out)[MR][NR]) const {
    __m512 sums[NR][MR];
    for (auto& row : sums)
      for (auto& sum : row) sum = _mm512_setzero_ps();
    int32_t k = 0;
    for (; k + kBf16Columns <= cols; k += kBf16Columns) {
      if constexpr (kAsks) ahead.ask();
      __m512bh xs[MR];
      for (int m = 0; m < MR; ++m) xs[m] = load(x + m * x_stride + k);
      for (int n = 0; n < NR; ++n) {
        const __m512bh ws = Read::load(w[n] + k);
        for (int m = 0; m < MR; ++m) sums[n][m] = _mm512_dpbf16_ps(sums[n][m], ws, xs[m]);
      }
    }
    if (k < cols) {
      for (int n = 0; n < NR; ++n) {
        // Missing columns are not read; x has zeros there.
        const __m512bh ws = Read::load_some(w[n] + k, (1u << (cols - k)) - 1);
        for (int m = 0; m < MR; ++m) sums[n][m] = _mm512_dpbf16_ps(sums[n][m], ws, load(x + m * x_stride + k));
      }
    }
    for (int m = 0; m < MR; ++m) {
      int n = 0;
      for (; n + 4 <= NR; n += 4) Vec::sum4(sums[n][m], sums[n + 1][m], sums[n + 2][m], sums[n + 3][m], out[m] + n);
      for (; n < NR; ++n) out[m][n] = Vec::sum(sums[n][m]);
    }
  }
};

// Where results go, and of which outputs.
struct Outputs {
  float* y;
  int64_t ldy;
  int32_t begin, end;
};

// Outputs [begin, end) for rows [r, r + MR), as many side by side as the registers hold sums.
template <class Read, int MR, bool kAsks>
void rows(const Matrix& w, const Act& x, int32_t r, lanes::Ahead& ahead, const Outputs& outputs) {
  const auto [y, ldy, n_begin, n_end] = outputs;
  constexpr int NR = Read::outputs(MR);
  const auto* values = static_cast<const typename Read::Element*>(w.values);
  Tile<Read, NR, MR> tile;
  tile.x_stride = bf16_stride(w.cols);
  tile.x = static_cast<const uint16_t*>(x.bytes) + r * tile.x_stride;
  tile.cols = w.cols;
  for (int32_t n = n_begin; n < n_end; n += NR) {
    for (int i = 0; i < NR; ++i) tile.w[i] = values + (n + i < n_end ? n + i : n_end - 1) * w.stride();
    float out[MR][NR];
    tile.template run<kAsks>(ahead, out);
    for (int i = 0; i < NR && n + i < n_end; ++i)
      for (int m = 0; m < MR; ++m) y[(r + m) * ldy + n + i] = out[m][i];
  }
}

// As many rows at a time as go together, then half as many, down to one.
template <class Read, int MR, bool kAsks>
void all_rows(const Matrix& w, const Act& x, int32_t r, lanes::Ahead& ahead, const Outputs& outputs) {
  for (; r + MR <= x.shape.rows; r += MR) rows<Read, MR, kAsks>(w, x, r, ahead, outputs);
  if constexpr (MR > 1) all_rows<Read, MR / 2, kAsks>(w, x, r, ahead, outputs);
}

template <class Read, bool kAsks>
void matmul(const Matrix& w, const Act& x, lanes::Ahead& ahead, const Outputs& outputs) {
  for (int32_t n = outputs.begin; n < outputs.end; n += kBlock) {
    const int32_t end = n + kBlock < outputs.end ? n + kBlock : outputs.end;
    all_rows<Read, Read::kRows, kAsks>(w, x, 0, ahead, {outputs.y, outputs.ldy, n, end});
  }
}

template <class Read>
void matmul(const Matrix& w, const Act& x, const Outputs& outputs) {
  lanes::Ahead nothing(nullptr, 0, 0);
  matmul<Read, false>(w, x, nothing, outputs);
}

// Steps of 32 columns that so many outputs take, with all rows.
int32_t steps_of(int32_t outputs, int32_t rows, int32_t cols) {
  const int32_t fours = (outputs + 3) / 4, eights = (outputs + 7) / 8;
  return (fours * (lanes::row_tiles(rows) - rows % 2) + eights * (rows % 2)) * (cols / kBf16Columns);
}

}  // namespace

void matmul_bf16(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  matmul<ReadBf16>(w, x, {y, ldy, n_begin, n_end});
}

void matmul_page_bf16(const Matrix& w, const void* ahead, const Act& x, float* y, int64_t ldy, int32_t n_begin,
                      int32_t n_end) {
  lanes::Ahead next(ahead, w.rows * w.stride() * 2, steps_of(n_end - n_begin, x.shape.rows, w.cols));
  matmul<ReadBf16, true>(w, x, next, {y, ldy, n_begin, n_end});
}

void matmul_f8(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  matmul<ReadF8>(w, x, {y, ldy, n_begin, n_end});
}

}  // namespace paceline::kernels::avx512
