// Attention's products in codes, in plain C++: what every other table must give, bit by bit where it is integers.
#pragma once

#include "kernels/cpu_table.h"

namespace paceline::kernels::portable {

void code_scores(const CodeRows& w, const int8_t* x, const int32_t* sums, int32_t rows, int32_t* y);
void code_mix(const CodeRows& w, const uint8_t* x, int32_t rows, int32_t* y);
void scale_scores(const int32_t* x, float part, const float* scales, bool add, float* y);
float encode_shares(const float* x, const float* scales, uint8_t* codes);
void blend_codes(float* y, float keep, const int32_t* x, float part, int64_t count);

}  // namespace paceline::kernels::portable
