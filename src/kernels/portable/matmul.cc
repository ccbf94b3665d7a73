// Matrix products in plain C++: the oracle for every other table. Unquantised sums run in double, k ascending.
// Quantised ones: the integers of a group exactly, then the groups' contributions in float32, group by group.
#include "kernels/portable/matmul.h"

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/portable/act.h"
#include "kernels/portable/blocks.h"
#include "tensor/blocks.h"

namespace paceline::kernels::portable {
namespace {

inline float weight_at(const Matrix& w, int64_t at) {
  switch (w.format) {
    case WeightFormat::f32: return static_cast<const float*>(w.values)[at];
    case WeightFormat::f16: return f16_to_f32(static_cast<const uint16_t*>(w.values)[at]);
    case WeightFormat::f8: return e4m3_to_f32(static_cast<const uint8_t*>(w.values)[at]);
    default: return bf16_to_f32(static_cast<const uint16_t*>(w.values)[at]);
  }
}

// Sums side by side: each runs k ascending, and none waits for the additions of another.
constexpr int32_t kAbreast = 4;

void matmul_floats(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  std::vector<double> weights(static_cast<size_t>(w.cols) * kAbreast);
  for (int32_t n = n_begin; n < n_end; n += kAbreast) {
    const int32_t count = std::min(kAbreast, n_end - n);
    for (int32_t i = 0; i < count; ++i)
      for (int32_t k = 0; k < w.cols; ++k)
        weights[static_cast<size_t>(k * kAbreast + i)] = weight_at(w, (n + i) * w.stride() + k);
    for (int32_t r = 0; r < x.shape.rows; ++r) {
      const float* row = static_cast<const float*>(x.bytes) + static_cast<int64_t>(r) * w.cols;
      double sums[kAbreast] = {};
      for (int32_t k = 0; k < w.cols; ++k)
        for (int32_t i = 0; i < kAbreast; ++i)
          sums[i] += weights[static_cast<size_t>(k * kAbreast + i)] * static_cast<double>(row[k]);
      for (int32_t i = 0; i < count; ++i) y[r * ldy + n + i] = static_cast<float>(sums[i]);
    }
  }
}

float quantised_dot(const Matrix& w, const Act& x, int32_t r, int32_t n) {
  const QuantisedRows parts = quantised_rows(x);
  const int32_t groups = w.cols / w.group;
  const int8_t* q = parts.q + static_cast<int64_t>(r) * w.cols;
  float sum = 0;
  for (int32_t g = 0; g < groups; ++g) {
    int32_t exact = 0;
    for (int32_t k = g * w.group; k < (g + 1) * w.group; ++k) exact += quantised_at(w, n, k) * q[k];
    const int64_t at = static_cast<int64_t>(r) * groups + g;
    sum += scale_at(w, w.scales, n, g) * parts.scales[at] * static_cast<float>(exact);
    sum += scale_at(w, w.biases, n, g) * parts.sums[at];
  }
  return sum;
}

}  // namespace

float scale_at(const Matrix& w, const void* scales, int32_t n, int32_t g) {
  const int64_t at = static_cast<int64_t>(n) * (w.cols / w.group) + g;
  return w.scale_dtype == DType::bf16 ? bf16_to_f32(static_cast<const uint16_t*>(scales)[at])
                                      : static_cast<const float*>(scales)[at];
}

int32_t quantised_at(const Matrix& w, int32_t n, int32_t k) {
  const auto* row =
      static_cast<const uint8_t*>(w.values) + static_cast<int64_t>(n) * static_cast<int64_t>(w.row_value_bytes());
  if (w.format == WeightFormat::q8) return row[k];
  return (k % 2 == 0 ? row[k / 2] : row[k / 2] >> 4) & 15;
}

namespace {

std::array<float, 256> e4m3_values() {
  std::array<float, 256> values{};
  for (int i = 0; i < 256; ++i) values[static_cast<size_t>(i)] = e4m3_to_f32(static_cast<uint8_t>(i));
  return values;
}

// Some columns of f8 or nf4 that have one scale.
void dequantise_group(const Matrix& w, const uint8_t* values, int32_t count, float scale, float* y) {
  if (w.format == WeightFormat::f8) {
    static const std::array<float, 256> kValues = e4m3_values();
    for (int32_t k = 0; k < count; ++k) y[k] = kValues[values[k]] * scale;
    return;
  }
  float levels[16];
  for (int i = 0; i < 16; ++i) levels[i] = w.levels[i] * scale;
  for (int32_t k = 0; k < count; k += 2) {
    y[k] = levels[values[k / 2] >> 4];
    y[k + 1] = levels[values[k / 2] & 15];
  }
}

// What a row of f8 or nf4 stands for, without its factor.
void dequantise_small_floats(const Matrix& w, int32_t row, float* y) {
  const auto* values = static_cast<const uint8_t*>(w.values) + row * static_cast<int64_t>(w.row_value_bytes());
  if (w.group == 0) return dequantise_group(w, values, w.cols, 1.0f, y);
  const auto* scales = reinterpret_cast<const float*>(static_cast<const std::byte*>(w.scales) +
                                                      static_cast<size_t>(row) * w.row_scale_bytes());
  for (int32_t k = 0; k < w.cols; k += w.group) {
    const int32_t at = w.format == WeightFormat::nf4 ? k / 2 : k;
    dequantise_group(w, values + at, std::min(w.group, w.cols - k), scales[k / w.group], y + k);
  }
}

}  // namespace

void dequantise(const Matrix& w, int32_t row, float scale, float* y) {
  if (in_blocks(w.format) || is_small_float(w.format)) {
    if (is_small_float(w.format))
      dequantise_small_floats(w, row, y);
    else
      dequantise_blocks(w, row, y);
    if (w.factors == nullptr && scale == 1.0f) return;
    for (int32_t k = 0; k < w.cols; ++k) y[k] = times_factor(w, row, y[k]) * scale;
    return;
  }
  for (int32_t k = 0; k < w.cols; ++k) {
    const float value = w.quantised()
                            ? scale_at(w, w.scales, row, k / w.group) * static_cast<float>(quantised_at(w, row, k)) +
                                  scale_at(w, w.biases, row, k / w.group)
                            : weight_at(w, static_cast<int64_t>(row) * w.cols + k);
    y[w.columns != nullptr ? w.columns[k] : k] = value * scale;
  }
}

void matmul(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  if (x.shape.kind == ActKind::blocks) return matmul_blocks(w, x, y, ldy, n_begin, n_end);
  if (!w.quantised()) return matmul_floats(w, x, y, ldy, n_begin, n_end);
  for (int32_t r = 0; r < x.shape.rows; ++r)
    for (int32_t n = n_begin; n < n_end; ++n) y[r * ldy + n] = quantised_dot(w, x, r, n);
}

void mix(const Matrix& w, const float* x, int32_t rows, const float* keep, float* y, int64_t ldy) {
  std::vector<double> sums(static_cast<size_t>(w.cols));
  for (int32_t r = 0; r < rows; ++r) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (int32_t t = 0; t < w.rows; ++t) {
      const double share = x[static_cast<int64_t>(r) * w.rows + t];
      for (int32_t k = 0; k < w.cols; ++k) sums[static_cast<size_t>(k)] += share * weight_at(w, t * w.stride() + k);
    }
    for (int32_t k = 0; k < w.cols; ++k) {
      float& out = y[r * ldy + k];
      out = out * keep[r] + static_cast<float>(sums[static_cast<size_t>(k)]);
    }
  }
}

}  // namespace paceline::kernels::portable
