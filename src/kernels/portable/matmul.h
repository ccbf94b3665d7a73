#pragma once

#include "kernels/cpu_table.h"

namespace paceline::kernels::portable {

void matmul(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end);

void mix(const Matrix& w, const float* x, int32_t rows, const float* keep, float* y, int64_t ldy);

// Element (n, k) of a matrix's scales or biases.
float scale_at(const Matrix& w, const void* scales, int32_t n, int32_t g);
// The unsigned integer at (n, k).
int32_t quantised_at(const Matrix& w, int32_t n, int32_t k);
// A number of row `row` with what all of the row is multiplied with.
inline float times_factor(const Matrix& w, int32_t row, float value) {
  return w.factors == nullptr ? value : static_cast<float>(static_cast<double>(value) * w.factors[row]);
}
// Row `row`, widened and times scale.
void dequantise(const Matrix& w, int32_t row, float scale, float* y);

}  // namespace paceline::kernels::portable
