#pragma once

#include "kernels/cpu_table.h"

namespace paceline::kernels::avx512 {

void matmul_bf16(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end);
// The same of a head's part of a page, while another is asked for (cpu_table.h).
void matmul_page_bf16(const Matrix& w, const void* ahead, const Act& x, float* y, int64_t ldy, int32_t n_begin,
                      int32_t n_end);
// W in E4M3, x in bf16: the sums of matmul_bf16 with the same numbers.
void matmul_f8(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end);
// W in blocks; those whose scales are products go on to the second.
void matmul_blocks(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end);
void matmul_super_blocks(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end);
// W as pack() leaves it.
void matmul_quantised(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end);
// With tiles of AMX, for x as these prepare it.
void tiles_matmul_quantised(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end);
size_t tiles_act_bytes(const ActShape& shape);
void tiles_prepare(const Act& act, const float* x, int64_t ldx, int32_t row_begin, int32_t row_end);
void pack(const Matrix& w, void* out, int32_t block_begin, int32_t block_end);

}  // namespace paceline::kernels::avx512
