// y [rows, N] = x [rows, K] · W [N, K]^T for quantised W and W in blocks where there is AVX-VNNI.
//
// Bound: with few rows the bytes of W. With many rows the dot product: 1.25 instructions and a load per 32 products.
#include "kernels/avx2/matmul.h"
#include "kernels/avx2/vnni_set.h"
#include "kernels/lanes/matmul_blocks.h"

namespace paceline::kernels::avx2 {

void vnni_matmul_quantised(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  lanes::matmul_packed<VnniSet>(w, x, y, ldy, n_begin, n_end);
}

void vnni_matmul_blocks(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  if (has_products(w.format)) return vnni_matmul_super_blocks(w, x, y, ldy, n_begin, n_end);
  lanes::matmul_blocks<VnniSet>(w, x, y, ldy, n_begin, n_end);
}

}  // namespace paceline::kernels::avx2
