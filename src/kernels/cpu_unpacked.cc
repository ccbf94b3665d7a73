#include "kernels/cpu_unpacked.h"

#include <algorithm>
#include <memory>

namespace paceline::kernels {
namespace {

// Outputs of f8 that are unpacked at once: they stay in the second cache.
constexpr int32_t kF8Outputs = 8;

}  // namespace

void multiply_unpacked(const CpuTable& table, const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin,
                       int32_t n_end) {
  const std::unique_ptr<float[]> tile(new float[static_cast<size_t>(kOutputTile) * static_cast<size_t>(w.cols)]);
  Matrix unpacked;
  unpacked.format = WeightFormat::f32;
  unpacked.cols = w.cols;
  unpacked.values = tile.get();
  for (int32_t n = n_begin; n < n_end; n += kOutputTile) {
    unpacked.rows = std::min(kOutputTile, n_end - n);
    for (int32_t i = 0; i < unpacked.rows; ++i)
      table.dequantise(w, n + i, 1.0f, tile.get() + static_cast<int64_t>(i) * w.cols);
    table.matmul(unpacked, x, y + n, ldy, 0, unpacked.rows);
  }
}

void multiply_f8(const CpuTable& table, const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin,
                 int32_t n_end) {
  const std::unique_ptr<uint16_t[]> tile(new uint16_t[static_cast<size_t>(kF8Outputs) * static_cast<size_t>(w.cols)]);
  Matrix unpacked;
  unpacked.format = WeightFormat::bf16;
  unpacked.cols = w.cols;
  unpacked.values = tile.get();
  const auto* values = static_cast<const uint8_t*>(w.values);
  for (int32_t n = n_begin; n < n_end; n += kF8Outputs) {
    unpacked.rows = std::min(kF8Outputs, n_end - n);
    table.widen_f8(values + int64_t{n} * w.cols, int64_t{unpacked.rows} * w.cols, tile.get());
    table.matmul(unpacked, x, y + n, ldy, 0, unpacked.rows);
  }
}

void multiply_factors(const Matrix& w, int32_t rows, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  for (int32_t r = 0; r < rows; ++r)
    for (int32_t n = n_begin; n < n_end; ++n) {
      float& out = y[r * ldy + n];
      out = static_cast<float>(static_cast<double>(out) * w.factors[n]);
    }
}

}  // namespace paceline::kernels
