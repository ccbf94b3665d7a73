// Products of quantised weights where there are tiles of AMX: lanes/matmul_packed.h with tile_set.h. The fewest rows
// take AVX-512's way, and so do groups of 32, which fill half of a tile.
#include "kernels/avx2/act.h"
#include "kernels/avx512/matmul.h"
#include "kernels/avx512/tile_set.h"

namespace paceline::kernels::avx512 {

size_t tiles_act_bytes(const ActShape& shape) {
  return TileSet::pays(shape) ? TileSet::scales_begin(shape) + TileSet::scales_bytes(shape) : avx2::act_bytes(shape);
}

void tiles_prepare(const Act& act, const float* x, int64_t ldx, int32_t row_begin, int32_t row_end) {
  avx2::prepare(act, x, ldx, row_begin, row_end);
  if (!TileSet::pays(act.shape)) return;
  const portable::QuantisedRows rows = portable::quantised_rows(act);
  const int32_t groups = act.shape.cols / act.shape.group;
  const int64_t stride = TileSet::rows_in_tiles(act.shape.rows);
  // Who prepares the last row clears what is behind it.
  const int64_t end = row_end == act.shape.rows ? stride : row_end;
  float* out = TileSet::scales_of(act);
  for (int32_t g = 0; g < groups; ++g, out += 2 * stride)
    for (int64_t r = row_begin; r < end; ++r) {
      const bool is_row = r < row_end;
      out[r] = is_row ? rows.scales[r * groups + g] : 0;
      out[stride + r] = is_row ? rows.sums[r * groups + g] : 0;
    }
}

void tiles_matmul_quantised(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  if (!TileSet::pays(x.shape)) return matmul_quantised(w, x, y, ldy, n_begin, n_end);
  const Tiles tiles(x.shape.rows < kTileRows ? x.shape.rows : kTileRows);
  lanes::matmul_packed<TileSet>(w, x, y, ldy, n_begin, n_end);
}

}  // namespace paceline::kernels::avx512
