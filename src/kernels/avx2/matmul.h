#pragma once

#include "kernels/cpu_table.h"

namespace paceline::kernels::avx2 {

// W in blocks; those whose scales are products go on to the second.
void matmul_blocks(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end);
void matmul_super_blocks(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end);
// W as pack() leaves it.
void matmul_quantised(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end);
// With dot products of bytes.
void vnni_matmul_blocks(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end);
void vnni_matmul_super_blocks(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end);
void vnni_matmul_quantised(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end);
void pack(const Matrix& w, void* out, int32_t block_begin, int32_t block_end);

}  // namespace paceline::kernels::avx2
