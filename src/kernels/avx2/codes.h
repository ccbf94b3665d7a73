#pragma once

#include "kernels/cpu_table.h"

namespace paceline::kernels::avx2 {

void code_scores(const CodeRows& w, const int8_t* x, const int32_t* sums, int32_t rows, int32_t* y);
void code_mix(const CodeRows& w, const uint8_t* x, int32_t rows, int32_t* y);

}  // namespace paceline::kernels::avx2
