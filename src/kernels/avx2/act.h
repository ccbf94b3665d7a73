// How activations lie for the AVX2 kernels.
//
//   f32, bf16      float32 rows (lanes/matmul_f32.h), for bf16 rounded
//   int8, nibbles  portable/act.h's rows of int8, scales and scaled sums; for nibbles each 8 columns are the 4 even
//                  ones, then the 4 odd ones. AVX-512 takes these too.
//   blocks         as int8
#pragma once

#include "kernels/cpu_table.h"

namespace paceline::kernels::avx2 {

size_t act_bytes(const ActShape& shape);
void prepare(const Act& act, const float* x, int64_t ldx, int32_t row_begin, int32_t row_end);

}  // namespace paceline::kernels::avx2
