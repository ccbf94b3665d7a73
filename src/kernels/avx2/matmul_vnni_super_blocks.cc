// As matmul_vnni.cc, for W in blocks whose scales are products.
#include "kernels/avx2/matmul.h"
#include "kernels/avx2/vnni_set.h"
#include "kernels/lanes/matmul_blocks.h"

namespace paceline::kernels::avx2 {

void vnni_matmul_super_blocks(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  lanes::matmul_super_blocks<VnniSet>(w, x, y, ldy, n_begin, n_end);
}

}  // namespace paceline::kernels::avx2
