#pragma once

#include "kernels/cpu_table.h"

namespace paceline::kernels::neon {

void matmul_bf16(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end);
void matmul_bf16_page(const Matrix& w, const void* ahead, const Act& x, float* y, int64_t ldy, int32_t n_begin,
                      int32_t n_end);
void matmul_quantised(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end);

}  // namespace paceline::kernels::neon
