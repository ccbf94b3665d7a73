#include "kernels/neon/table.h"

#include "kernels/lanes/table.h"
#include "kernels/neon/act.h"
#include "kernels/neon/blocks_layout.h"
#include "kernels/neon/codes.h"
#include "kernels/neon/dotprod.h"
#include "kernels/neon/matmul.h"
#include "kernels/neon/matmul_blocks.h"
#include "kernels/neon/matmul_f8.h"
#include "kernels/neon/packed.h"
#include "kernels/neon/page_bf16.h"
#include "kernels/neon/vec.h"

namespace paceline::kernels::neon {
namespace {

void matmul(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  if (w.format == WeightFormat::f8) return matmul_f8(w, x, y, ldy, n_begin, n_end);
  switch (x.shape.kind) {
    case ActKind::f32: return dotprod::matmul_floats(w, x, y, ldy, n_begin, n_end);
    case ActKind::bf16: return matmul_bf16(w, x, y, ldy, n_begin, n_end);
    case ActKind::int8:
    case ActKind::nibbles: return matmul_quantised(w, x, y, ldy, n_begin, n_end);
    case ActKind::blocks: return matmul_blocks(w, x, y, ldy, n_begin, n_end);
  }
}

void matmul_page(const Matrix& w, const void* ahead, const Act& x, float* y, int64_t ldy, int32_t n_begin,
                 int32_t n_end) {
  if (x.shape.kind == ActKind::bf16) return matmul_bf16_page(w, ahead, x, y, ldy, n_begin, n_end);
  matmul(w, x, y, ldy, n_begin, n_end);
}

constexpr CpuTable make_table() {
  CpuTable made = lanes::elementwise_table<Vec>("neon");
  made.packed_bytes = packed_bytes;
  made.pack = pack;
  made.pack_rows = kBlockRows;
  made.act_bytes = act_bytes;
  made.act_unit = 2;
  made.prepare = prepare;
  made.matmul = matmul;
  made.matmul_page = matmul_page;
  made.reads_f8 = true;
  made.dequantise = dequantise;
  made.turn_page = turn_page_bf16;
  made.interleaves_codes = true;
  made.code_scores = code_scores;
  made.code_mix = code_mix;
  return made;
}

}  // namespace

const CpuTable& table() {
  static constexpr CpuTable kTable = make_table();
  return kTable;
}

}  // namespace paceline::kernels::neon
