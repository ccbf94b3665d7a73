// Rounding activations to 8 bits, for both tables; compiled for the lesser one. One pass over rows that lie in the
// cache, about 1.5 operations per element.
#include <arm_neon.h>

#include <cstring>

#include "kernels/neon/blocks_act.h"

namespace paceline::kernels::neon {
namespace {

int64_t in_lines(int64_t bytes) { return (bytes + 63) / 64 * 64; }
int64_t pairs_of(const ActShape& shape, int32_t pair_rows) { return (shape.rows + pair_rows - 1) / pair_rows; }

// A half of a pair; kAlone: both halves.
template <bool kAlone>
void prepare_row(const BlocksAct& parts, int32_t group, const float* x, int64_t pair, int64_t half) {
  for (int32_t g = 0; g < parts.groups; ++g) {
    int8_t q[32];
    int32_t sum = 0;
    const float scale = quantise_group(x + g * group, group, q, sum), scaled = scale * static_cast<float>(sum);
    int8_t* out = parts.q + (pair * parts.cols + g * group) * 2 + half * 8;
    for (int32_t k = 0; k < group; k += 8) {
      std::memcpy(out + 2 * k, q + k, 8);
      if constexpr (kAlone) std::memcpy(out + 2 * k + 8, q + k, 8);
    }
    const int64_t at = (pair * parts.groups + g) * 4;
    for (int64_t i = at + half; i < at + 4; i += kAlone ? 1 : 2) parts.scales[i] = scale, parts.sums[i] = scaled;
  }
}

}  // namespace

size_t blocks_act_bytes(const ActShape& shape, int32_t pair_rows) {
  const int64_t pairs = pairs_of(shape, pair_rows), scales = pairs * (shape.cols / shape.group) * 4;
  return static_cast<size_t>(in_lines(pairs * 2 * shape.cols) + 2 * scales * static_cast<int64_t>(sizeof(float)));
}

BlocksAct blocks_act(const Act& act, int32_t pair_rows) {
  const ActShape& shape = act.shape;
  const int64_t pairs = pairs_of(shape, pair_rows);
  const int32_t groups = shape.cols / shape.group;
  auto* q = static_cast<int8_t*>(act.bytes);
  auto* scales = reinterpret_cast<float*>(q + in_lines(pairs * 2 * shape.cols));
  return {q, scales, scales + pairs * groups * 4, shape.cols, groups};
}

void prepare_blocks(const Act& act, int32_t pair_rows, const float* x, int64_t ldx, int32_t row_begin,
                    int32_t row_end) {
  const BlocksAct parts = blocks_act(act, pair_rows);
  for (int32_t r = row_begin; r < row_end; ++r) {
    const int32_t half = r % pair_rows;
    if (pair_rows == 1 || (half == 0 && r + 1 == act.shape.rows))
      prepare_row<true>(parts, act.shape.group, x + r * ldx, r / pair_rows, 0);
    else
      prepare_row<false>(parts, act.shape.group, x + r * ldx, r / pair_rows, half);
  }
}

float quantise_group(const float* x, int32_t group, int8_t* q, int32_t& sum) {
  float32x4_t top4 = vdupq_n_f32(0);
  for (int32_t k = 0; k < group; k += 4) top4 = vmaxq_f32(top4, vabsq_f32(vld1q_f32(x + k)));
  const float top = vmaxvq_f32(top4);
  const float32x4_t inverse = vdupq_n_f32(top > 0 ? 127.0f / top : 0.0f);
  const auto round4 = [&](const float* p) { return vmovn_s32(vcvtnq_s32_f32(vmulq_f32(vld1q_f32(p), inverse))); };
  int16x8_t total = vdupq_n_s16(0);
  for (int32_t k = 0; k < group; k += 16) {
    const int16x8_t a = vcombine_s16(round4(x + k), round4(x + k + 4));
    const int16x8_t b = vcombine_s16(round4(x + k + 8), round4(x + k + 12));
    total = vaddq_s16(total, vaddq_s16(a, b));
    vst1q_s8(q + k, vcombine_s8(vmovn_s16(a), vmovn_s16(b)));
  }
  sum = vaddlvq_s16(total);
  return top / 127.0f;
}

}  // namespace paceline::kernels::neon
