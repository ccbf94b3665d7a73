// Products with matrices that the tables have no kernels for, by way of the numbers that they stand for: of float32
// rows with matrices in blocks, and with 8-bit floats and 4-bit levels.
#pragma once

#include "kernels/cpu_table.h"

namespace paceline::kernels {

// As CpuTable::matmul, x of ActKind::f32: some outputs at a time are unpacked, once for all rows, and multiplied as a
// matrix of float32. For checks, and where numbers must not be rounded.
void multiply_unpacked(const CpuTable& table, const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin,
                       int32_t n_end);

// Likewise of f8 whose scales are factors of rows, which bf16 holds exactly; x of ActKind::f32 or bf16, and y without
// the factors.
void multiply_f8(const CpuTable& table, const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin,
                 int32_t n_end);
// y[r * ldy + n] times the factor of row n of w.
void multiply_factors(const Matrix& w, int32_t rows, float* y, int64_t ldy, int32_t n_begin, int32_t n_end);

}  // namespace paceline::kernels
