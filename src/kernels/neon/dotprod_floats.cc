// y [rows, N] = x [rows, K] · W [N, K]^T for f32, f16 and bf16 weights, widened in registers: the tiles of
// lanes/matmul_f32.h, and so its bits, in another order. With few rows each output of a tile is read from a run of its
// own (streams.h); with many, rows stay in the first cache while outputs pass, which stay in the second.
//
// Bound: with one row the bytes of W (bf16: two operations for 8 bytes); from two rows on the multiplications, 4
// products each, two a cycle on most of these processors.
#include <arm_neon.h>

#include "kernels/lanes/matmul_f32.h"
#include "kernels/neon/dotprod.h"
#include "kernels/neon/streams.h"
#include "kernels/neon/vec.h"

namespace paceline::kernels::neon::dotprod {
namespace {

constexpr int32_t kFewRows = 4;
constexpr int32_t kCachedOutputs = 64;

struct Output {
  float* y;
  int64_t ldy;
};

template <class Read, int MR, bool kNeighbours>
void rows_of(const Matrix& w, const float* x, int64_t stride, const Output& output, int32_t n_begin, int32_t n_end) {
  constexpr int kOutputs = MR == 1 ? 8 : 4;
  const Streams<kOutputs, kNeighbours> streams(n_begin, n_end);
  const auto* values = static_cast<const typename Read::Element*>(w.values);
  for (int32_t tile = 0; tile < streams.run; ++tile) {
    const typename Read::Element* rows[kOutputs];
    float out[MR][kOutputs];
    float* outs[MR];
    for (int i = 0; i < kOutputs; ++i) rows[i] = values + streams.row(tile, i) * w.stride();
    for (int m = 0; m < MR; ++m) outs[m] = out[m];
    lanes::tile_f32<Vec, Read, kOutputs, MR>(rows, x, stride, w.cols, outs);
    for (int m = 0; m < MR; ++m)
      for (int i = 0; i < kOutputs; ++i) output.y[m * output.ldy + streams.row(tile, i)] = out[m][i];
  }
}

// As many rows at once as registers hold, against outputs [n_begin, n_end).
template <class Read, bool kNeighbours>
void all_rows(const Matrix& w, const Act& x, const Output& output, int32_t n_begin, int32_t n_end) {
  const int64_t stride = lanes::f32_stride<Vec>(w.cols);
  const auto* rows = static_cast<const float*>(x.bytes);
  int32_t m = 0;
  const auto next = [&]<int MR>() {
    rows_of<Read, MR, kNeighbours>(w, rows + m * stride, stride, {output.y + m * output.ldy, output.ldy}, n_begin,
                                   n_end);
    m += MR;
  };
  while (x.shape.rows - m >= 4) next.template operator()<4>();
  if (x.shape.rows - m == 3) return next.template operator()<3>();
  if (x.shape.rows - m == 2) return next.template operator()<2>();
  if (x.shape.rows - m == 1) next.template operator()<1>();
}

template <class Read>
void matmul_as(const Matrix& w, const Act& x, const Output& output, int32_t n_begin, int32_t n_end) {
  if (x.shape.rows <= kFewRows) return all_rows<Read, false>(w, x, output, n_begin, n_end);
  for (int32_t n = n_begin; n < n_end; n += kCachedOutputs) {
    const int32_t end = n + kCachedOutputs < n_end ? n + kCachedOutputs : n_end;
    all_rows<Read, true>(w, x, output, n, end);
  }
}

}  // namespace

void matmul_floats(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  const Output output{y, ldy};
  switch (w.format) {
    case WeightFormat::f32: return matmul_as<lanes::ReadF32<Vec>>(w, x, output, n_begin, n_end);
    case WeightFormat::f16: return matmul_as<lanes::ReadF16<Vec>>(w, x, output, n_begin, n_end);
    default: return matmul_as<lanes::ReadBf16<Vec>>(w, x, output, n_begin, n_end);
  }
}

}  // namespace paceline::kernels::neon::dotprod
