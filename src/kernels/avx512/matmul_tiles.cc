// Products of quantised weights and of those in blocks where there are tiles of AMX: lanes/matmul_packed.h and
// lanes/matmul_blocks.h with tile_set.h. The fewest rows take AVX-512's way.
#include "kernels/avx2/act.h"
#include "kernels/avx512/matmul.h"
#include "kernels/avx512/tile_set.h"
#include "kernels/lanes/matmul_blocks.h"

namespace paceline::kernels::avx512 {
namespace {

int32_t tile_rows_of(const Act& x) { return x.shape.rows < kTileRows ? x.shape.rows : kTileRows; }

}  // namespace

size_t tiles_act_bytes(const ActShape& shape) { return TileSet::scales_begin(shape) + TileSet::scales_bytes(shape); }

void tiles_prepare(const Act& act, const float* x, int64_t ldx, int32_t row_begin, int32_t row_end) {
  avx2::prepare(act, x, ldx, row_begin, row_end);
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
  if (x.shape.rows < TileSet::fewest_rows(x.shape.kind)) return matmul_quantised(w, x, y, ldy, n_begin, n_end);
  const Tiles tiles(tile_rows_of(x), TileSet::step_of(x.shape.group));
  lanes::matmul_packed<TileSet>(w, x, y, ldy, n_begin, n_end);
}

void tiles_matmul_blocks(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  if (x.shape.rows < TileSet::fewest_rows(x.shape.kind)) return matmul_blocks(w, x, y, ldy, n_begin, n_end);
  const Tiles tiles(tile_rows_of(x), TileSet::step_of(x.shape.group));
  lanes::matmul_blocks<TileSet>(w, x, y, ldy, n_begin, n_end);
}

}  // namespace paceline::kernels::avx512
