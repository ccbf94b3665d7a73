#include "kernels/cpu_unpacked.h"

#include <algorithm>
#include <memory>

namespace paceline::kernels {

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

}  // namespace paceline::kernels
