// y [rows, N] = x [rows, K] · W [N, K]^T for W in blocks whose scales are products: lanes/matmul_blocks.h with this
// set's vectors.
#include "kernels/avx512/matmul.h"
#include "kernels/avx512/packed_set.h"
#include "kernels/lanes/matmul_blocks.h"

namespace paceline::kernels::avx512 {

void matmul_super_blocks(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  lanes::matmul_super_blocks<PackedSet>(w, x, y, ldy, n_begin, n_end);
}

}  // namespace paceline::kernels::avx512
