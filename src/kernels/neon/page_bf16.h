#pragma once

#include "kernels/cpu_table.h"

namespace paceline::kernels::neon {

// Matrices of up to so many columns.
inline constexpr int32_t kPageColumns = 512;

// matmul_bf16 of a matrix that is no larger than a head's part of a page: outputs from n_begin up to the one returned.
// ahead: matmul_page's.
int32_t page_bf16(const Matrix& w, const void* ahead, const Act& x, float* y, int64_t ldy, int32_t n_begin,
                  int32_t n_end);

// CpuTable::turn_page.
void turn_page_bf16(const uint16_t* from, int64_t stride, int32_t dim, uint16_t* to);

}  // namespace paceline::kernels::neon
