// Attention's products in codes (cpu_table.h): with the matrix instructions of bytes (I8MM), and without.
#pragma once

#include "kernels/cpu_table.h"

namespace paceline::kernels::neon {

void code_scores(const CodeRows& w, const int8_t* x, const int32_t* sums, int32_t rows, int32_t* y);
void code_mix(const CodeRows& w, const uint8_t* x, int32_t rows, int32_t* y);

namespace dotprod {
void code_scores(const CodeRows& w, const int8_t* x, const int32_t* sums, int32_t rows, int32_t* y);
void code_mix(const CodeRows& w, const uint8_t* x, int32_t rows, int32_t* y);
}  // namespace dotprod

}  // namespace paceline::kernels::neon
