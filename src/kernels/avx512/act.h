// How activations lie for the AVX-512 kernels.
//
//   f32            float32 rows (lanes/matmul_f32.h)
//   bf16           rows of bf16, columns padded with zeros to 32: one register
//   int8, nibbles  as AVX2 prepares them (avx2/act.h)
#pragma once

#include "kernels/cpu_table.h"

namespace paceline::kernels::avx512 {

// Columns of a register of bf16.
inline constexpr int32_t kBf16Columns = 32;

// Elements from one bf16 row to the next.
constexpr int64_t bf16_stride(int32_t cols) {
  return (static_cast<int64_t>(cols) + kBf16Columns - 1) / kBf16Columns * kBf16Columns;
}

size_t act_bytes(const ActShape& shape);
void prepare(const Act& act, const float* x, int64_t ldx, int32_t row_begin, int32_t row_end);

}  // namespace paceline::kernels::avx512
