// y [rows, N] = x [rows, K] · W [N, K]^T for quantised W: the part of lanes/matmul_packed.h that is AVX-512's. 16
// outputs.
//
// The dot product of four unsigned and four signed bytes (VPDPBUSD, which does not saturate) takes a vector of weights,
// four columns of 16 outputs, and the same four columns of one row of x in every lane. q4 unpacks into two such
// vectors: of 8 columns the even and the odd ones.
//
// Bound: with few rows the bytes of W. With many rows the dot product and its loads of x: 2.25 instructions per 64
// products, 1 of them the dot product.
#include "kernels/avx512/matmul.h"
#include "kernels/avx512/packed_set.h"
#include "kernels/lanes/matmul_packed.h"
#include "kernels/lanes/packed_blocks.h"

namespace paceline::kernels::avx512 {

void matmul_quantised(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  lanes::matmul_packed<PackedSet>(w, x, y, ldy, n_begin, n_end);
}

void pack(const Matrix& w, void* out, int32_t block_begin, int32_t block_end) {
  if (in_blocks(w.format)) return lanes::pack_blocks<PackedSet>(w, out, block_begin, block_end);
  lanes::pack<PackedSet>(w, out, block_begin, block_end);
}

}  // namespace paceline::kernels::avx512
