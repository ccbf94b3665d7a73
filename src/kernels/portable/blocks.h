// Products with weights in blocks (tensor/blocks.h), in plain C++: for tables that have no kernels of their own for
// them, too.
#pragma once

#include "kernels/cpu_table.h"

namespace paceline::kernels::portable {

// x of ActKind::blocks. A block is decoded once for all rows; its groups' integers are exact, and groups are added in
// ascending order.
void matmul_blocks(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end);

}  // namespace paceline::kernels::portable
