#include "kernels/portable/act.h"

#include <algorithm>
#include <cmath>

namespace paceline::kernels::portable {

size_t act_bytes(const ActShape& shape) {
  const auto elements = static_cast<size_t>(shape.rows) * static_cast<size_t>(shape.cols);
  switch (shape.kind) {
    case ActKind::f32:
    case ActKind::bf16: return elements * sizeof(float);
    case ActKind::int8:
    case ActKind::nibbles:
    case ActKind::blocks: return elements + 64 + elements / static_cast<size_t>(shape.group) * 2 * sizeof(float);
  }
  return 0;
}

QuantisedRows quantised_rows(const Act& act) {
  const auto elements = static_cast<size_t>(act.shape.rows) * static_cast<size_t>(act.shape.cols);
  auto* bytes = static_cast<char*>(act.bytes);
  auto* scales = reinterpret_cast<float*>(bytes + (elements + 63) / 64 * 64);
  return {reinterpret_cast<int8_t*>(bytes), scales, scales + elements / static_cast<size_t>(act.shape.group)};
}

float quantise_group(const float* x, int32_t count, int8_t* q, int32_t& sum) {
  float top = 0;
  for (int32_t i = 0; i < count; ++i) top = std::max(top, std::fabs(x[i]));
  const float inverse = top > 0 ? 127.0f / top : 0.0f;
  sum = 0;
  for (int32_t i = 0; i < count; ++i) {
    q[i] = static_cast<int8_t>(std::lrintf(x[i] * inverse));
    sum += q[i];
  }
  return top / 127.0f;
}

void prepare(const Act& act, const float* x, int64_t ldx, int32_t row_begin, int32_t row_end) {
  const int32_t cols = act.shape.cols;
  const bool quantised = act.shape.kind != ActKind::f32 && act.shape.kind != ActKind::bf16;
  for (int32_t r = row_begin; r < row_end; ++r) {
    const float* row = x + r * ldx;
    if (!quantised) {
      float* y = static_cast<float*>(act.bytes) + static_cast<int64_t>(r) * cols;
      for (int32_t k = 0; k < cols; ++k)
        y[k] = act.shape.kind == ActKind::f32 ? row[k] : bf16_to_f32(f32_to_bf16(row[k]));
      continue;
    }
    const QuantisedRows parts = quantised_rows(act);
    const int32_t groups = cols / act.shape.group;
    for (int32_t g = 0; g < groups; ++g) {
      int32_t sum = 0;
      const int64_t at = static_cast<int64_t>(r) * groups + g;
      parts.scales[at] = quantise_group(row + g * act.shape.group, act.shape.group,
                                        parts.q + static_cast<int64_t>(r) * cols + g * act.shape.group, sum);
      parts.sums[at] = parts.scales[at] * static_cast<float>(sum);
    }
  }
}

}  // namespace paceline::kernels::portable
