// Products with weights in blocks where there are dot products only: row by row.
#include "kernels/neon/blocks_tiles.h"
#include "kernels/neon/matmul_blocks.h"

namespace paceline::kernels::neon::dotprod {
namespace {

struct WithoutMatrices {};

}  // namespace

void matmul_blocks(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  with_blocks_format(w.format, [&]<WeightFormat kFormat>() {
    BlockTiles<DotRows<WithoutMatrices>, kFormat>::run(w, x, y, ldy, n_begin, n_end);
  });
}

}  // namespace paceline::kernels::neon::dotprod
