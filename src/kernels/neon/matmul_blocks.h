// Products with weights in blocks, as CpuTable::matmul; what they read: blocks_layout.h, blocks_act.h.
#pragma once

#include "kernels/cpu_table.h"

namespace paceline::kernels::neon {

void matmul_blocks(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end);

namespace dotprod {

void matmul_blocks(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end);

}  // namespace dotprod
}  // namespace paceline::kernels::neon
