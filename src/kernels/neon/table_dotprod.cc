// For processors with dot products but neither the matrix nor the bf16 instructions: rows one at a time against four
// outputs, activations as the portable table lays them out.
#include <arm_neon.h>

#include "kernels/lanes/table.h"
#include "kernels/neon/table.h"
#include "kernels/neon/vec.h"
#include "kernels/portable/act.h"
#include "kernels/portable/blocks.h"

namespace paceline::kernels::neon {
namespace {

// D of one group for four outputs. 8-bit weights are shifted to signed; 128 Σ q_x puts it right.
template <bool kNibbles>
inline int32x4_t group_dots(const uint8_t* const (&w)[4], const int8_t* x, int32_t group) {
  int32x4_t d[4], total = vdupq_n_s32(0);
  for (auto& lane : d) lane = vdupq_n_s32(0);
  if constexpr (kNibbles) {
    for (int32_t k = 0; k < group; k += 32) {
      const int8x16x2_t xs = vld2q_s8(x + k);
      for (int n = 0; n < 4; ++n) {
        const uint8x16_t bytes = vld1q_u8(w[n] + k / 2);
        d[n] = vdotq_s32(d[n], vreinterpretq_s8_u8(vandq_u8(bytes, vdupq_n_u8(15))), xs.val[0]);
        d[n] = vdotq_s32(d[n], vreinterpretq_s8_u8(vshrq_n_u8(bytes, 4)), xs.val[1]);
      }
    }
  } else {
    for (int32_t k = 0; k < group; k += 16) {
      const int8x16_t xs = vld1q_s8(x + k);
      total = vdotq_s32(total, xs, vdupq_n_s8(1));
      for (int n = 0; n < 4; ++n)
        d[n] = vdotq_s32(d[n], vreinterpretq_s8_u8(veorq_u8(vld1q_u8(w[n] + k), vdupq_n_u8(128))), xs);
    }
  }
  const int32x4_t sums = vpaddq_s32(vpaddq_s32(d[0], d[1]), vpaddq_s32(d[2], d[3]));
  return vaddq_s32(sums, vdupq_n_s32(128 * vaddvq_s32(total)));
}

template <bool kNibbles>
void matmul_quantised_dotprod(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  const portable::QuantisedRows parts = portable::quantised_rows(x);
  const int32_t groups = w.cols / w.group;
  const auto group_bytes = static_cast<int64_t>(w.row_value_bytes()) / groups;
  for (int32_t n = n_begin; n < n_end; n += 4) {
    for (int32_t r = 0; r < x.shape.rows; ++r) {
      float32x4_t sum = vdupq_n_f32(0);
      for (int32_t g = 0; g < groups; ++g) {
        const uint8_t* rows[4];
        float s[4], b[4];
        for (int i = 0; i < 4; ++i) {
          const int32_t output = n + i < n_end ? n + i : n_end - 1;
          rows[i] = static_cast<const uint8_t*>(w.values) + (static_cast<int64_t>(output) * groups + g) * group_bytes;
          s[i] = portable::scale_at(w, w.scales, output, g);
          b[i] = portable::scale_at(w, w.biases, output, g);
        }
        const int64_t at = static_cast<int64_t>(r) * groups + g;
        const auto exact = vcvtq_f32_s32(group_dots<kNibbles>(rows, parts.q + at * w.group, w.group));
        sum = vfmaq_f32(sum, exact, vmulq_n_f32(vld1q_f32(s), parts.scales[at]));
        sum = vfmaq_n_f32(sum, vld1q_f32(b), parts.sums[at]);
      }
      float out[4];
      vst1q_f32(out, sum);
      for (int i = 0; i < 4 && n + i < n_end; ++i) y[r * ldy + n + i] = out[i];
    }
  }
}

void matmul_dotprod(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  switch (x.shape.kind) {
    case ActKind::f32:
    case ActKind::bf16: return lanes::matmul_f32<Vec>(w, x, y, ldy, n_begin, n_end);
    case ActKind::int8: return matmul_quantised_dotprod<false>(w, x, y, ldy, n_begin, n_end);
    case ActKind::nibbles: return matmul_quantised_dotprod<true>(w, x, y, ldy, n_begin, n_end);
    case ActKind::blocks: return portable::matmul_blocks(w, x, y, ldy, n_begin, n_end);
  }
}

size_t act_bytes_dotprod(const ActShape& shape) {
  if (shape.kind != ActKind::f32 && shape.kind != ActKind::bf16) return portable::act_bytes(shape);
  return static_cast<size_t>(shape.rows * lanes::f32_stride<Vec>(shape.cols)) * sizeof(float);
}

void prepare_dotprod(const Act& act, const float* x, int64_t ldx, int32_t row_begin, int32_t row_end) {
  if (act.shape.kind != ActKind::f32 && act.shape.kind != ActKind::bf16)
    return portable::prepare(act, x, ldx, row_begin, row_end);
  lanes::prepare_f32<Vec>(act, x, ldx, row_begin, row_end);
}

constexpr CpuTable make_table() {
  CpuTable made = lanes::elementwise_table<Vec>("neon-dotprod");
  made.act_bytes = act_bytes_dotprod;
  made.act_unit = 1;
  made.prepare = prepare_dotprod;
  made.matmul = matmul_dotprod;
  made.mix = lanes::mix<Vec>;
  return made;
}

}  // namespace

const CpuTable& dotprod_table() {
  static constexpr CpuTable kTable = make_table();
  return kTable;
}

}  // namespace paceline::kernels::neon
