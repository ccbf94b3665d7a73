// y [rows, N] = x [rows, K] · W [N, K]^T for W in blocks: lanes/matmul_blocks.h with this set's vectors.
#include "kernels/lanes/matmul_blocks.h"

#include "kernels/avx2/matmul.h"
#include "kernels/avx2/packed_set.h"

namespace paceline::kernels::avx2 {

void matmul_blocks(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  if (has_products(w.format)) return matmul_super_blocks(w, x, y, ldy, n_begin, n_end);
  lanes::matmul_blocks<PackedSet>(w, x, y, ldy, n_begin, n_end);
}

}  // namespace paceline::kernels::avx2
