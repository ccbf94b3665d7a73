#include "kernels/avx2/table.h"

#include "kernels/avx2/act.h"
#include "kernels/avx2/codes.h"
#include "kernels/avx2/matmul.h"
#include "kernels/avx2/packed_set.h"
#include "kernels/avx2/vec.h"
#include "kernels/lanes/packed_blocks.h"
#include "kernels/lanes/page_floats.h"
#include "kernels/lanes/table.h"

namespace paceline::kernels::avx2 {
namespace {

void matmul(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  switch (x.shape.kind) {
    case ActKind::f32:
    case ActKind::bf16:
      if (is_small_float(w.format)) return lanes::matmul_small_floats<Vec>(w, x, y, ldy, n_begin, n_end);
      return lanes::matmul_f32<Vec>(w, x, y, ldy, n_begin, n_end);
    case ActKind::int8:
    case ActKind::nibbles: return matmul_quantised(w, x, y, ldy, n_begin, n_end);
    case ActKind::blocks: return matmul_blocks(w, x, y, ldy, n_begin, n_end);
  }
}

void matmul_by_vnni(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  switch (x.shape.kind) {
    case ActKind::int8:
    case ActKind::nibbles: return vnni_matmul_quantised(w, x, y, ldy, n_begin, n_end);
    case ActKind::blocks: return vnni_matmul_blocks(w, x, y, ldy, n_begin, n_end);
    default: return matmul(w, x, y, ldy, n_begin, n_end);
  }
}

constexpr CpuTable make_table(const char* name, bool vnni) {
  CpuTable made = lanes::elementwise_table<Vec>(name);
  made.packed_bytes = lanes::all_packed_bytes<Vec>;
  made.pack = pack;
  made.pack_rows = Vec::kLanes;
  made.dequantise = lanes::dequantise<Vec>;
  made.act_bytes = act_bytes;
  made.act_unit = 1;
  made.prepare = prepare;
  made.few_f8_rows = lanes::kFewF8Rows;
  made.few_scaled_rows = lanes::kFewScaledRows<Vec>;
  made.matmul = vnni ? matmul_by_vnni : matmul;
  made.matmul_page = lanes::matmul_page<PackedSet>;
  made.mix = lanes::mix<Vec>;
  made.code_scores = code_scores;
  made.code_mix = code_mix;
  return made;
}

}  // namespace

const CpuTable& table() {
  static constexpr CpuTable kTable = make_table("avx2", false);
  return kTable;
}

const CpuTable& vnni_table() {
  static constexpr CpuTable kTable = make_table("avx2-vnni", true);
  return kTable;
}

}  // namespace paceline::kernels::avx2
