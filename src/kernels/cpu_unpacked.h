// Products of float32 rows with matrices in blocks, by way of the numbers that the blocks stand for.
#pragma once

#include "kernels/cpu_table.h"

namespace paceline::kernels {

// As CpuTable::matmul, x of ActKind::f32: some outputs at a time are unpacked, once for all rows, and multiplied as a
// matrix of float32. For checks, and where numbers must not be rounded.
void multiply_unpacked(const CpuTable& table, const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin,
                       int32_t n_end);

}  // namespace paceline::kernels
