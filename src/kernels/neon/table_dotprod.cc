// For processors with dot products but neither the matrix nor the bf16 instructions.
#include "kernels/lanes/table.h"
#include "kernels/neon/blocks_layout.h"
#include "kernels/neon/codes.h"
#include "kernels/neon/dotprod.h"
#include "kernels/neon/matmul_blocks.h"
#include "kernels/neon/table.h"
#include "kernels/neon/vec.h"

namespace paceline::kernels::neon {
namespace {

void matmul_dotprod(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  switch (x.shape.kind) {
    case ActKind::f32:
    case ActKind::bf16: return dotprod::matmul_floats(w, x, y, ldy, n_begin, n_end);
    case ActKind::int8:
    case ActKind::nibbles: return dotprod::matmul_quantised(w, x, y, ldy, n_begin, n_end);
    case ActKind::blocks: return dotprod::matmul_blocks(w, x, y, ldy, n_begin, n_end);
  }
}

constexpr CpuTable make_table() {
  CpuTable made = lanes::elementwise_table<Vec>("neon-dotprod");
  made.packed_bytes = dotprod::packed_bytes;
  made.pack = dotprod::pack;
  made.pack_rows = dotprod::kBlockRows;
  made.act_bytes = dotprod::act_bytes;
  made.act_unit = 1;
  made.prepare = dotprod::prepare;
  made.matmul = matmul_dotprod;
  made.reads_f8 = true;
  made.dequantise = dequantise;
  made.mix = lanes::mix<Vec>;
  made.interleaves_codes = true;
  made.code_scores = dotprod::code_scores;
  made.code_mix = dotprod::code_mix;
  return made;
}

}  // namespace

const CpuTable& dotprod_table() {
  static constexpr CpuTable kTable = make_table();
  return kTable;
}

}  // namespace paceline::kernels::neon
