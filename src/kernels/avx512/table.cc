#include "kernels/avx512/table.h"

#include "kernels/avx2/act.h"
#include "kernels/avx512/act.h"
#include "kernels/avx512/codes.h"
#include "kernels/avx512/matmul.h"
#include "kernels/avx512/packed_set.h"
#include "kernels/avx512/page_tiles.h"
#include "kernels/avx512/vec.h"
#include "kernels/lanes/packed_blocks.h"
#include "kernels/lanes/page_floats.h"
#include "kernels/lanes/table.h"

namespace paceline::kernels::avx512 {
namespace {

void matmul(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  const bool small = is_small_float(w.format);
  switch (x.shape.kind) {
    case ActKind::f32:
      return (small ? lanes::matmul_small_floats<Vec> : lanes::matmul_f32<Vec>)(w, x, y, ldy, n_begin, n_end);
    case ActKind::bf16: return (small ? matmul_f8 : matmul_bf16)(w, x, y, ldy, n_begin, n_end);
    case ActKind::int8:
    case ActKind::nibbles: return matmul_quantised(w, x, y, ldy, n_begin, n_end);
    case ActKind::blocks: return matmul_blocks(w, x, y, ldy, n_begin, n_end);
  }
}

void matmul_page(const Matrix& w, const void* ahead, const Act& x, float* y, int64_t ldy, int32_t n_begin,
                 int32_t n_end) {
  const bool bf16 = x.shape.kind == ActKind::bf16;
  return (bf16 ? matmul_page_bf16 : lanes::matmul_page<PackedSet>)(w, ahead, x, y, ldy, n_begin, n_end);
}

// Without dot products of bf16: its values are rounded, the arithmetic is float32's.
bool is_quantised(const ActShape& shape) { return shape.kind != ActKind::f32 && shape.kind != ActKind::bf16; }

size_t widened_act_bytes(const ActShape& shape) {
  if (is_quantised(shape)) return avx2::act_bytes(shape);
  return static_cast<size_t>(shape.rows * lanes::f32_stride<Vec>(shape.cols)) * sizeof(float);
}

void prepare_widened(const Act& act, const float* x, int64_t ldx, int32_t row_begin, int32_t row_end) {
  if (is_quantised(act.shape)) return avx2::prepare(act, x, ldx, row_begin, row_end);
  lanes::prepare_f32<Vec>(act, x, ldx, row_begin, row_end);
}

void matmul_widened(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  if (x.shape.kind == ActKind::blocks) return matmul_blocks(w, x, y, ldy, n_begin, n_end);
  if (is_quantised(x.shape)) return matmul_quantised(w, x, y, ldy, n_begin, n_end);
  if (is_small_float(w.format)) return lanes::matmul_small_floats<Vec>(w, x, y, ldy, n_begin, n_end);
  lanes::matmul_f32<Vec>(w, x, y, ldy, n_begin, n_end);
}

// With tiles: what is in affine groups goes through them.
bool is_affine(const ActShape& shape) { return shape.kind == ActKind::int8 || shape.kind == ActKind::nibbles; }

size_t act_bytes_with_tiles(const ActShape& shape) {
  return is_affine(shape) ? tiles_act_bytes(shape) : act_bytes(shape);
}

void prepare_with_tiles(const Act& act, const float* x, int64_t ldx, int32_t row_begin, int32_t row_end) {
  if (is_affine(act.shape)) return tiles_prepare(act, x, ldx, row_begin, row_end);
  prepare(act, x, ldx, row_begin, row_end);
}

void matmul_with_tiles(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  if (is_affine(x.shape)) return tiles_matmul_quantised(w, x, y, ldy, n_begin, n_end);
  matmul(w, x, y, ldy, n_begin, n_end);
}

constexpr CpuTable make_table(const char* name, bool bf16_products) {
  CpuTable made = lanes::elementwise_table<Vec>(name);
  made.packed_bytes = lanes::all_packed_bytes<Vec>;
  made.pack = pack;
  made.pack_rows = Vec::kLanes;
  made.dequantise = lanes::dequantise<Vec>;
  made.act_bytes = bf16_products ? act_bytes : widened_act_bytes;
  made.act_unit = 1;
  made.prepare = bf16_products ? prepare : prepare_widened;
  made.few_f8_rows = lanes::kFewF8Rows;
  made.few_scaled_rows = lanes::kFewScaledRows<Vec>;
  made.matmul = bf16_products ? matmul : matmul_widened;
  made.matmul_page = bf16_products ? matmul_page : lanes::matmul_page<PackedSet>;
  made.mix = lanes::mix<Vec>;
  made.code_scores = code_scores;
  made.code_mix = code_mix;
  return made;
}

constexpr CpuTable make_amx_table() {
  CpuTable made = make_table("avx512-amx", true);
  made.act_bytes = act_bytes_with_tiles;
  made.prepare = prepare_with_tiles;
  made.matmul = matmul_with_tiles;
  made.page_products_bytes = page_tiles_bytes;
  made.make_page_products = make_page_tiles;
  made.block_queries = kBlockQueries;
  return made;
}

}  // namespace

const CpuTable& table() {
  static constexpr CpuTable kTable = make_table("avx512", true);
  return kTable;
}

const CpuTable& amx_table() {
  static constexpr CpuTable kTable = make_amx_table();
  return kTable;
}

const CpuTable& vnni_table() {
  static constexpr CpuTable kTable = make_table("avx512-vnni", false);
  return kTable;
}

}  // namespace paceline::kernels::avx512
