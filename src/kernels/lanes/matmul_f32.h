// y [rows, N] = x [rows, K] · W [N, K]^T with float32 activations and f32, f16 or bf16 weights widened in registers;
// written once for all instruction sets (see math.h for V, which also has load_bf16 and load_f16).
//
// One output element is V::kLanes partial sums over K, lane i taking k = i mod kLanes, folded by V::sum at the end. So
// the order depends on K alone; tiles only decide how many elements are computed side by side.
// Bound by arithmetic (2 operations per weight and row); this path is for checks and for f32 and f16 checkpoints.
#pragma once

#include <cstdint>

#include "kernels/cpu_table.h"
#include "kernels/lanes/elementwise.h"

namespace paceline::kernels::lanes {

template <class V>
constexpr int64_t f32_stride(int64_t cols) {
  return (cols + V::kLanes - 1) / V::kLanes * V::kLanes;
}

// Also for bf16 activations where the set has no bf16 instructions: the values are rounded, the arithmetic is
// float32's.
template <class V>
void prepare_f32(const Act& act, const float* x, int64_t ldx, int32_t row_begin, int32_t row_end) {
  const bool round = act.shape.kind == ActKind::bf16;
  const int64_t stride = f32_stride<V>(act.shape.cols);
  for (int32_t r = row_begin; r < row_end; ++r) {
    float* y = static_cast<float*>(act.bytes) + r * stride;
    for (int64_t k = 0; k < act.shape.cols; ++k) {
      const float value = x[r * ldx + k];
      y[k] = round ? bf16_to_f32(f32_to_bf16(value)) : value;
    }
    for (int64_t k = act.shape.cols; k < stride; ++k) y[k] = 0;
  }
}

// How a weight type is read, kLanes at a time.
template <class V>
struct ReadF32 {
  using Element = float;
  static typename V::F load(const float* w) { return V::load(w); }
};
template <class V>
struct ReadF16 {
  using Element = uint16_t;
  static typename V::F load(const uint16_t* w) { return V::load_f16(w); }
};
template <class V>
struct ReadBf16 {
  using Element = uint16_t;
  static typename V::F load(const uint16_t* w) { return V::load_bf16(w); }
};

template <class V>
struct ReadF8 {
  using Element = uint8_t;
  static typename V::F load(const uint8_t* w) { return V::load_e4m3(w); }
};

// NR outputs of MR rows, all of K.
template <class V, class Read, int NR, int MR>
inline void tile_f32(const typename Read::Element* const* w, const float* x, int64_t stride, int32_t cols,
                     float* const* y) {
  typename V::F sums[NR][MR];
  for (auto& row : sums)
    for (auto& sum : row) sum = V::set1(0);
  int32_t k = 0;
  for (; k + V::kLanes <= cols; k += V::kLanes) {
    typename V::F values[MR];
    for (int m = 0; m < MR; ++m) values[m] = V::load(x + m * stride + k);
    for (int n = 0; n < NR; ++n) {
      const auto weight = Read::load(w[n] + k);
      for (int m = 0; m < MR; ++m) sums[n][m] = V::fma(weight, values[m], sums[n][m]);
    }
  }
  if (k < cols) {
    for (int n = 0; n < NR; ++n) {
      typename Read::Element padded[V::kLanes] = {};
      for (int32_t i = 0; i < cols - k; ++i) padded[i] = w[n][k + i];
      const auto weight = Read::load(padded);
      for (int m = 0; m < MR; ++m) sums[n][m] = V::fma(weight, V::load(x + m * stride + k), sums[n][m]);
    }
  }
  static_assert(NR % 4 == 0);
  for (int n = 0; n < NR; n += 4)
    for (int m = 0; m < MR; ++m) V::sum4(sums[n][m], sums[n + 1][m], sums[n + 2][m], sums[n + 3][m], y[m] + n);
}

template <class V, class Read, int MR>
inline void rows_f32(const Matrix& w, const float* x, int64_t stride, float* y, int64_t ldy, int32_t n_begin,
                     int32_t n_end) {
  constexpr int kOutputs = MR == 1 ? 8 : 4;
  const auto* values = static_cast<const typename Read::Element*>(w.values);
  for (int32_t n = n_begin; n < n_end; n += kOutputs) {
    const typename Read::Element* rows[kOutputs];
    float out[MR][kOutputs];
    float* outs[MR];
    for (int i = 0; i < kOutputs; ++i) rows[i] = values + (n + i < n_end ? n + i : n_end - 1) * w.stride();
    for (int m = 0; m < MR; ++m) outs[m] = out[m];
    tile_f32<V, Read, kOutputs, MR>(rows, x, stride, w.cols, outs);
    for (int m = 0; m < MR; ++m)
      for (int i = 0; i < kOutputs && n + i < n_end; ++i) y[m * ldy + n + i] = out[m][i];
  }
}

template <class V, class Read>
inline void matmul_f32_as(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  const int64_t stride = f32_stride<V>(w.cols);
  const float* rows = static_cast<const float*>(x.bytes);
  // Outputs in blocks that stay in the cache while all rows pass over them.
  constexpr int32_t kBlock = 16;
  for (int32_t n = n_begin; n < n_end; n += kBlock) {
    const int32_t end = n + kBlock < n_end ? n + kBlock : n_end;
    int32_t m = 0;
    for (; m + 4 <= x.shape.rows; m += 4) rows_f32<V, Read, 4>(w, rows + m * stride, stride, y + m * ldy, ldy, n, end);
    for (; m + 2 <= x.shape.rows; m += 2) rows_f32<V, Read, 2>(w, rows + m * stride, stride, y + m * ldy, ldy, n, end);
    for (; m < x.shape.rows; ++m) rows_f32<V, Read, 1>(w, rows + m * stride, stride, y + m * ldy, ldy, n, end);
  }
}

// From how many rows on widening once is worth a way by memory was found by trying.
inline constexpr int32_t kFewF8Rows = 8;

// Of f8 without its scales, for sets that have load_e4m3: each number as bf16 has it, so that its sums are those of
// bf16. Bound by widening, seven operations a vector for up to four rows of x.
template <class V>
void matmul_f8(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  matmul_f32_as<V, ReadF8<V>>(w, x, y, ldy, n_begin, n_end);
}

template <class V>
void matmul_f32(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  switch (w.format) {
    case WeightFormat::f32: return matmul_f32_as<V, ReadF32<V>>(w, x, y, ldy, n_begin, n_end);
    case WeightFormat::f16: return matmul_f32_as<V, ReadF16<V>>(w, x, y, ldy, n_begin, n_end);
    default: return matmul_f32_as<V, ReadBf16<V>>(w, x, y, ldy, n_begin, n_end);
  }
}

}  // namespace paceline::kernels::lanes
