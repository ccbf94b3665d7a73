// Preparing activations: one pass over rows that lie in the cache, about 1.5 operations per element.
#include "kernels/lanes/matmul_f32.h"
#include "kernels/neon/blocks_act.h"
#include "kernels/neon/dotprod.h"
#include "kernels/neon/packed_format.h"
#include "kernels/neon/vec.h"

namespace paceline::kernels::neon::dotprod {
namespace {

bool in_floats(const ActShape& shape) { return shape.kind == ActKind::f32 || shape.kind == ActKind::bf16; }

}  // namespace

size_t act_bytes(const ActShape& shape) {
  if (in_floats(shape)) return static_cast<size_t>(shape.rows * lanes::f32_stride<Vec>(shape.cols)) * sizeof(float);
  if (shape.kind == ActKind::blocks) return blocks_act_bytes(shape, 1);
  const size_t groups = static_cast<size_t>(shape.rows) * static_cast<size_t>(shape.cols / shape.group);
  return portable::act_bytes(shape) + (shape.kind == ActKind::int8 ? groups * sizeof(int32_t) : 0);
}

int32_t* corrections(const Act& act) {
  const int64_t groups = int64_t{act.shape.rows} * (act.shape.cols / act.shape.group);
  return reinterpret_cast<int32_t*>(portable::quantised_rows(act).sums + groups);
}

void prepare(const Act& act, const float* x, int64_t ldx, int32_t row_begin, int32_t row_end) {
  if (in_floats(act.shape)) return lanes::prepare_f32<Vec>(act, x, ldx, row_begin, row_end);
  if (act.shape.kind == ActKind::blocks) return prepare_blocks(act, 1, x, ldx, row_begin, row_end);
  const portable::QuantisedRows parts = portable::quantised_rows(act);
  const int32_t group = act.shape.group, groups = act.shape.cols / group;
  for (int32_t r = row_begin; r < row_end; ++r)
    for (int32_t g = 0; g < groups; ++g) {
      int32_t sum = 0;
      const int64_t at = static_cast<int64_t>(r) * groups + g;
      parts.scales[at] = quantise_group(x + r * ldx + g * group, group, parts.q + at * group, sum);
      parts.sums[at] = parts.scales[at] * static_cast<float>(sum);
      if (act.shape.kind == ActKind::int8) corrections(act)[at] = kMagicBits + 128 * sum;
    }
}

}  // namespace paceline::kernels::neon::dotprod
