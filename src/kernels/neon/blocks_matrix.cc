// Products with weights in blocks where there is a matrix instruction: rows in pairs, a row alone with dot products.
#include "kernels/neon/blocks_tiles.h"
#include "kernels/neon/matmul_blocks.h"

namespace paceline::kernels::neon {
namespace {

// 2x8 by 8x2: results {n0 r0, n0 r1, n1 r0, n1 r1}, then of outputs 2 and 3.
struct MatrixPairs {
  static constexpr int kSlotRows = 2, kVectors = 2;
  static int32x4_t dot(int32x4_t sum, int8x16_t w, int8x16_t x) { return vmmlaq_s32(sum, w, x); }
  static void finish(int32x4_t first, int32x4_t second, int32x4_t (&out)[2]) { out[0] = first, out[1] = second; }
  static void spread(float32x4_t four, float32x4_t (&out)[2]) {
    out[0] = vzip1q_f32(four, four);
    out[1] = vzip2q_f32(four, four);
  }
  static void spread(int32x4_t four, int32x4_t (&out)[2]) {
    out[0] = vzip1q_s32(four, four);
    out[1] = vzip2q_s32(four, four);
  }
  static void store(const BlocksOutput& output, const float32x4_t* results, int32_t n, int32_t row) {
    output.store_row(vuzp1q_f32(results[0], results[1]), n, row);
    if (row + 1 < output.rows) output.store_row(vuzp2q_f32(results[0], results[1]), n, row + 1);
  }
};

}  // namespace

void matmul_blocks(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  with_blocks_format(w.format, [&]<WeightFormat kFormat>() {
    if (x.shape.rows == 1) return BlockTiles<DotRows<MatrixPairs>, kFormat>::run(w, x, y, ldy, n_begin, n_end);
    BlockTiles<MatrixPairs, kFormat>::run(w, x, y, ldy, n_begin, n_end);
  });
}

}  // namespace paceline::kernels::neon
