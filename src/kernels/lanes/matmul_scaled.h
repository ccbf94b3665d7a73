// y [rows, N] = x [rows, K] · W [N, K]^T in float32, W in E4M3 or 4-bit levels with a float32 scale for each group of a
// row's columns; for sets whose vectors lie within a group.
//
// A weight is its number times its group's scale, rounded to float32, as dequantise has it; sums are those of
// lanes/matmul_f32.h over such weights, in their order. So it is the same, bit for bit, whether a few rows take weights
// as they come from memory, or many take them by way of memory (cpu_unpacked.h).
//
// Bound: with few rows unpacking: of E4M3 six operations a vector, of levels five with one look-up and twice that with
// two. A set has, besides what matmul_f32.h wants,
//   halves_of_e4m3(p)    a byte of E4M3 for each lane, 2^-8 of what it stands for
//   Levels               16 float32 in registers; levels(p, scale), each times scale
//   look_up(levels, p)   by half bytes from p on, of each byte the higher one first; two for each lane are read
#pragma once

#include <cstdint>

#include "kernels/cpu_table.h"
#include "kernels/lanes/matmul_f32.h"
#include "kernels/portable/matmul.h"

namespace paceline::kernels::lanes {

// From how many rows on unpacking once is worth a way by memory was found by trying: from five with eight lanes.
template <class V>
inline constexpr int32_t kFewScaledRows = V::kLanes / 2;

template <class V>
struct ScaledF8 {
  using Group = typename V::F;
  // Of a row's bytes: where column k lies, and how many hold the first columns.
  static constexpr int32_t byte_of(int32_t k) { return k; }
  static constexpr int32_t bytes_of(int32_t count) { return count; }
  static Group group(const Matrix&, float scale) { return V::set1(256.0f * scale); }
  static typename V::F weights(const Group& scale, const uint8_t* p) { return V::mul(V::halves_of_e4m3(p), scale); }
};

template <class V>
struct ScaledLevels {
  using Group = typename V::Levels;
  static constexpr int32_t byte_of(int32_t k) { return k / 2; }
  static constexpr int32_t bytes_of(int32_t count) { return (count + 1) / 2; }
  static Group group(const Matrix& w, float scale) { return V::levels(w.levels, scale); }
  static typename V::F weights(const Group& levels, const uint8_t* p) { return V::look_up(levels, p); }
};

// Fewer weights than there are lanes, zeros standing in for the others.
template <class V, class Read>
typename V::F last_weights(const typename Read::Group& group, const uint8_t* p, int32_t count) {
  uint8_t padded[V::kLanes] = {};
  for (int32_t i = 0; i < Read::bytes_of(count); ++i) padded[i] = p[i];
  float numbers[V::kLanes];
  V::store(numbers, Read::weights(group, padded));
  for (int32_t i = count; i < V::kLanes; ++i) numbers[i] = 0;
  return V::load(numbers);
}

// Of a row whose numbers have scales, or of E4M3 without.
template <class V, class Read>
void dequantise_scaled(const Matrix& w, int32_t row, float* y) {
  const auto* values = static_cast<const uint8_t*>(w.values) + row * static_cast<int64_t>(w.row_value_bytes());
  const auto* scales = reinterpret_cast<const float*>(static_cast<const std::byte*>(w.scales) +
                                                      static_cast<size_t>(row) * w.row_scale_bytes());
  const int32_t columns = w.group > 0 ? w.group : w.cols;
  for (int32_t k = 0; k < w.cols; k += columns) {
    const int32_t end = k + columns < w.cols ? k + columns : w.cols;
    const auto group = Read::group(w, w.group > 0 ? scales[k / columns] : 1.0f);
    int32_t i = k;
    for (; i + V::kLanes <= end; i += V::kLanes) V::store(y + i, Read::weights(group, values + Read::byte_of(i)));
    if (i == end) continue;
    float rest[V::kLanes];
    V::store(rest, last_weights<V, Read>(group, values + Read::byte_of(i), end - i));
    for (int32_t j = 0; i + j < end; ++j) y[i + j] = rest[j];
  }
}

// As CpuTable's dequantise, of f8 and nf4 as they lie in files.
template <class V>
void dequantise_small_floats(const Matrix& w, int32_t row, float scale, float* y) {
  if (w.format == WeightFormat::nf4)
    dequantise_scaled<V, ScaledLevels<V>>(w, row, y);
  else
    dequantise_scaled<V, ScaledF8<V>>(w, row, y);
  if (w.factors == nullptr && scale == 1.0f) return;
  for (int32_t k = 0; k < w.cols; ++k) y[k] = portable::times_factor(w, row, y[k]) * scale;
}

// NR outputs from n on times MR rows, all of K. The last output stands in for those beyond N.
template <class V, class Read, int NR, int MR>
[[gnu::noinline]] void scaled_tile(const Matrix& w, int32_t n, const float* x, int64_t stride, float (&out)[MR][NR]) {
  const uint8_t* values[NR];
  const float* scales[NR];
  for (int i = 0; i < NR; ++i) {
    const int32_t row = n + i < w.rows ? n + i : w.rows - 1;
    values[i] = static_cast<const uint8_t*>(w.values) + row * static_cast<int64_t>(w.row_value_bytes());
    scales[i] = reinterpret_cast<const float*>(static_cast<const std::byte*>(w.scales) +
                                               static_cast<size_t>(row) * w.row_scale_bytes());
  }
  typename V::F sums[NR][MR];
  for (auto& row : sums)
    for (auto& sum : row) sum = V::set1(0);
  for (int32_t begin = 0, g = 0; begin < w.cols; begin += w.group, ++g) {
    const int32_t end = begin + w.group < w.cols ? begin + w.group : w.cols;
    typename Read::Group groups[NR];
    for (int i = 0; i < NR; ++i) groups[i] = Read::group(w, scales[i][g]);
    int32_t k = begin;
    for (; k + V::kLanes <= end; k += V::kLanes)
      for (int i = 0; i < NR; ++i) {
        const auto weights = Read::weights(groups[i], values[i] + Read::byte_of(k));
        for (int m = 0; m < MR; ++m) sums[i][m] = V::fma(weights, V::load(x + m * stride + k), sums[i][m]);
      }
    if (k == end) continue;
    for (int i = 0; i < NR; ++i) {
      const auto weights = last_weights<V, Read>(groups[i], values[i] + Read::byte_of(k), end - k);
      for (int m = 0; m < MR; ++m) sums[i][m] = V::fma(weights, V::load(x + m * stride + k), sums[i][m]);
    }
  }
  static_assert(NR == 4);
  for (int m = 0; m < MR; ++m) V::sum4(sums[0][m], sums[1][m], sums[2][m], sums[3][m], out[m]);
}

template <class V, class Read, int MR>
void scaled_rows(const Matrix& w, const Act& x, int32_t r, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  constexpr int kOutputs = 4;
  const int64_t stride = f32_stride<V>(w.cols);
  const float* rows = static_cast<const float*>(x.bytes) + r * stride;
  for (int32_t n = n_begin; n < n_end; n += kOutputs) {
    float out[MR][kOutputs];
    scaled_tile<V, Read, kOutputs, MR>(w, n, rows, stride, out);
    for (int m = 0; m < MR; ++m)
      for (int i = 0; i < kOutputs && n + i < n_end; ++i) y[(r + m) * ldy + n + i] = out[m][i];
  }
}

template <class V, class Read>
void matmul_scaled_as(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  for (int32_t n = n_begin; n < n_end; n += kOutputTile) {
    const int32_t end = n + kOutputTile < n_end ? n + kOutputTile : n_end;
    int32_t r = 0;
    for (; r + 4 <= x.shape.rows; r += 4) scaled_rows<V, Read, 4>(w, x, r, y, ldy, n, end);
    for (; r + 2 <= x.shape.rows; r += 2) scaled_rows<V, Read, 2>(w, x, r, y, ldy, n, end);
    for (; r < x.shape.rows; ++r) scaled_rows<V, Read, 1>(w, x, r, y, ldy, n, end);
  }
}

// As CpuTable's matmul, x in float32.
template <class V>
void matmul_small_floats(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  if (w.format == WeightFormat::nf4) return matmul_scaled_as<V, ScaledLevels<V>>(w, x, y, ldy, n_begin, n_end);
  if (w.group > 0) return matmul_scaled_as<V, ScaledF8<V>>(w, x, y, ldy, n_begin, n_end);
  matmul_f8<V>(w, x, y, ldy, n_begin, n_end);
}

}  // namespace paceline::kernels::lanes
