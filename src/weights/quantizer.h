// MLX's affine quantisation: weight = scale * q + bias, q of 4 or 8 bits, one scale and bias per group of a row.
// As mlx.core.quantize computes it, save that scale and bias are rounded to bfloat16, as they will be stored, before
// the weights are measured against them: so the error stays within half a step of the values a reader will see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "tensor/dtype.h"

namespace paceline {

struct QuantSpec {
  int32_t bits = 8;    // 4 or 8
  int32_t group = 64;  // 32, 64 or 128

  // A row of `cols` weights packed: bytes, and scales (as many biases).
  [[nodiscard]] int64_t packed_bytes(int64_t cols) const { return cols * bits / 8; }
  [[nodiscard]] int64_t scale_count(int64_t cols) const { return cols / group; }
};

// Rows of weights as they lie in a file: bf16, f16 or f32, at any address.
struct WeightRows {
  const std::byte* values = nullptr;  // [rows, cols]
  DType dtype = DType::bf16;
  int64_t rows = 0;
  int64_t cols = 0;  // a multiple of the group
};

void read_weight_row(const WeightRows& weights, int64_t row, std::span<float> out);

struct QuantisedRows {
  std::vector<uint8_t> packed;           // [rows, packed_bytes]: four bits have the even element in the low half
  std::vector<uint16_t> scales, biases;  // [rows, cols / group], bfloat16
};

// false where a weight is not finite; what `out` holds is then of no use.
[[nodiscard]] bool quantise_rows(const WeightRows& weights, QuantSpec spec, ThreadPool& pool, QuantisedRows* out);

// One row back, as a reader computes it.
void dequantise_row(const QuantisedRows& rows, QuantSpec spec, int64_t row, std::span<float> out);

}  // namespace paceline
