// y [rows, N] = x [rows, K] · W [N, K]^T for quantised W: the part of lanes/matmul_packed.h that is AVX2's. 8 outputs.
//
// There is no exact product of unsigned and signed bytes that adds up in 32 bits, and the 16-bit one saturates. So
// every weight is unpacked into nibbles: q8 into the low and the high half of each, q4 into the even and the odd
// column. Then a lane can take 16 products in 16 bits: 16 * 15 * 128 < 2^15. (Codes of blocks that have five or six
// bits are multiplied as they are, 8 or 4 products to a lane: packed_set.h.)
//
// Bound: with few rows the bytes of W. With many rows arithmetic: 15 instructions per 64 products (q4: 8).
#include "kernels/avx2/matmul.h"
#include "kernels/avx2/packed_set.h"
#include "kernels/lanes/matmul_packed.h"
#include "kernels/lanes/packed_blocks.h"

namespace paceline::kernels::avx2 {

void matmul_quantised(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  lanes::matmul_packed<PackedSet>(w, x, y, ldy, n_begin, n_end);
}

void pack(const Matrix& w, void* out, int32_t block_begin, int32_t block_end) {
  if (in_blocks(w.format)) return lanes::pack_blocks<PackedSet>(w, out, block_begin, block_end);
  lanes::pack<PackedSet>(w, out, block_begin, block_end);
}

}  // namespace paceline::kernels::avx2
