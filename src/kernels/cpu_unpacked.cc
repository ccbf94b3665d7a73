#include "kernels/cpu_unpacked.h"

#include <algorithm>
#include <memory>

namespace paceline::kernels {
namespace {

// Outputs of f8 that are unpacked at once: they stay in the second cache.
constexpr int32_t kF8Outputs = 8;

// E4M3 as bf16, bits to bits, without branches so that compilers use vectors.
inline uint16_t bf16_of_e4m3(uint8_t v) {
  const auto k = static_cast<uint16_t>(v & 0x7f);
  // Below 8 there is no exponent: multiples of 2^-9.
  const auto one = static_cast<uint16_t>(k == 0 ? 0 : 0x3b00);
  const auto few = static_cast<uint16_t>(k < 2 ? one : 0x3b00 + (k << 6));
  const auto small = static_cast<uint16_t>(k < 4 ? few : 0x3b80 + (k << 5));
  const auto normal = static_cast<uint16_t>(0x3c00 + (k << 4));
  const auto number = static_cast<uint16_t>(k < 8 ? small : normal);
  return static_cast<uint16_t>((k == 0x7f ? 0x7fc0 : number) | (v & 0x80) << 8);
}

void unpack_f8(const uint8_t* from, int64_t count, uint16_t* to) {
  constexpr int64_t kAtOnce = 32;
  int64_t i = 0;
  for (; i + kAtOnce <= count; i += kAtOnce)
    for (int64_t j = 0; j < kAtOnce; ++j) to[i + j] = bf16_of_e4m3(from[i + j]);
  for (; i < count; ++i) to[i] = bf16_of_e4m3(from[i]);
}

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
    unpack_f8(values + int64_t{n} * w.cols, int64_t{unpacked.rows} * w.cols, tile.get());
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
