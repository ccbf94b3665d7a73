// Preparing activations: one pass over rows that lie in the cache. Bound by arithmetic, about 1.5 operations per
// element; below one per cent of a matrix product.
#include "kernels/neon/act.h"

#include <arm_neon.h>

#include <cstring>

#include "kernels/lanes/matmul_f32.h"
#include "kernels/neon/blocks_act.h"
#include "kernels/neon/vec.h"

namespace paceline::kernels::neon {
namespace {

constexpr int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

int64_t row_pairs(int32_t rows) { return (rows + 1) / 2; }

void prepare_bf16_pair(const Act& act, const float* x0, const float* x1, int64_t pair) {
  const int32_t cols = act.shape.cols;
  const int64_t padded = round_up(cols, 8);
  auto* out = static_cast<uint16_t*>(act.bytes) + pair * padded * 2;
  const auto narrow = [](const float* x) { return vreinterpret_u16_bf16(vcvt_bf16_f32(vld1q_f32(x))); };
  int32_t k = 0;
  for (; k + 4 <= cols; k += 4) {
    vst1_u16(out + k * 2, narrow(x0 + k));
    vst1_u16(out + k * 2 + 4, x1 != nullptr ? narrow(x1 + k) : vdup_n_u16(0));
  }
  for (; k < padded; k += 4) {
    float tail[2][4] = {};
    for (int32_t i = 0; k + i < cols && i < 4; ++i) {
      tail[0][i] = x0[k + i];
      tail[1][i] = x1 != nullptr ? x1[k + i] : 0;
    }
    vst1_u16(out + k * 2, narrow(tail[0]));
    vst1_u16(out + k * 2 + 4, narrow(tail[1]));
  }
}

// A pair's place in the parts of an act.
struct PairPlace {
  int8_t* q;         // of the first 8 columns
  float* scales;     // of the first group
  uint16_t* sums;    // of the first 4 groups
  int32_t together;  // pairs of the tile: so many steps to the next columns and groups
};

PairPlace place_of(const QuantisedAct& parts, const ActShape& shape, int32_t pair) {
  const RowTile tile = row_tile(pair, (shape.rows + 1) / 2);
  const int64_t first = tile.first, at = pair - tile.first, groups = shape.cols / shape.group;
  return {parts.q + (first * shape.cols / 8 + at) * 16, parts.scales + (first * groups + at) * 4,
          parts.sums + (first * parts.blocks + at) * 16, tile.pairs};
}

// The scaled sum of group g of row r of a pair, in two parts.
void store_sum(const PairPlace& place, int32_t g, int r, float scaled) {
  uint16_t* block = place.sums + g / 4 * place.together * 16 + r * 4 + g % 4;
  block[0] = f32_to_bf16(scaled);
  block[8] = f32_to_bf16(scaled - bf16_to_f32(block[0]));
}

// Groups beyond the last, up to a whole block.
void clear_tail(const PairPlace& place, int32_t groups) {
  for (int32_t g = groups; g % 4 != 0; ++g)
    for (int r = 0; r < 2; ++r) store_sum(place, g, r, 0);
}

void prepare_pair(const Act& act, const float* x0, const float* x1, int32_t pair) {
  const PairPlace place = place_of(quantised_parts(act), act.shape, pair);
  const int32_t group = act.shape.group, groups = act.shape.cols / group, step = place.together * 16;
  int8_t* out = place.q;
  for (int32_t g = 0; g < groups; ++g) {
    int8_t rows[2][128];
    float scales[2];
    int32_t sum = 0;
    for (int r = 0; r < 2; ++r) {
      if (r == 0 || x1 != x0)
        scales[r] = quantise_group((r == 0 ? x0 : x1) + g * group, group, rows[r], sum);
      else
        scales[1] = scales[0], std::memcpy(rows[1], rows[0], static_cast<size_t>(group));
      store_sum(place, g, r, scales[r] * static_cast<float>(sum));
    }
    for (int32_t k = 0; k < group; k += 16, out += 2 * step) {
      int8x16_t a = vld1q_s8(rows[0] + k), b = vld1q_s8(rows[1] + k);
      if (act.shape.kind == ActKind::nibbles) {
        a = vcombine_s8(vget_low_s8(vuzp1q_s8(a, a)), vget_low_s8(vuzp2q_s8(a, a)));
        b = vcombine_s8(vget_low_s8(vuzp1q_s8(b, b)), vget_low_s8(vuzp2q_s8(b, b)));
      }
      vst1q_s8(out, vcombine_s8(vget_low_s8(a), vget_low_s8(b)));
      vst1q_s8(out + step, vcombine_s8(vget_high_s8(a), vget_high_s8(b)));
    }
    vst1q_f32(place.scales + g * place.together * 4, vcombine_f32(vld1_f32(scales), vld1_f32(scales)));
  }
  clear_tail(place, groups);
}

}  // namespace

size_t act_bytes(const ActShape& shape) {
  if (shape.kind == ActKind::blocks) return blocks_act_bytes(shape, 2);
  if (shape.kind == ActKind::f32)
    return static_cast<size_t>(shape.rows * lanes::f32_stride<Vec>(shape.cols)) * sizeof(float);
  const int64_t pairs = row_pairs(shape.rows);
  if (shape.kind == ActKind::bf16) return static_cast<size_t>(pairs * 2 * round_up(shape.cols, 8)) * 2;
  const int64_t groups = shape.cols / shape.group, blocks = (groups + 3) / 4;
  const int64_t bytes = round_up(pairs * 2 * shape.cols, 64), scales = pairs * groups * 4;
  return static_cast<size_t>(bytes + scales * static_cast<int64_t>(sizeof(float)) + pairs * blocks * 32);
}

QuantisedAct quantised_parts(const Act& act) {
  const ActShape& shape = act.shape;
  const int64_t pairs = row_pairs(shape.rows);
  const int64_t groups = shape.cols / shape.group, blocks = (groups + 3) / 4;
  const int64_t bytes = round_up(pairs * 2 * shape.cols, 64), scales = pairs * groups * 4;
  auto* first = reinterpret_cast<float*>(static_cast<char*>(act.bytes) + bytes);
  return {static_cast<int8_t*>(act.bytes), first, reinterpret_cast<uint16_t*>(first + scales),
          static_cast<int32_t>(blocks)};
}

void prepare(const Act& act, const float* x, int64_t ldx, int32_t unit_begin, int32_t unit_end) {
  // A unit is a pair of rows.
  const int32_t row_end = unit_end * 2 < act.shape.rows ? unit_end * 2 : act.shape.rows;
  if (act.shape.kind == ActKind::f32) return lanes::prepare_f32<Vec>(act, x, ldx, unit_begin * 2, row_end);
  if (act.shape.kind == ActKind::blocks) return prepare_blocks(act, 2, x, ldx, unit_begin * 2, row_end);
  for (int32_t unit = unit_begin; unit < unit_end; ++unit) {
    const float* x0 = x + 2 * unit * ldx;
    const float* x1 = 2 * unit + 1 < act.shape.rows ? x0 + ldx : nullptr;
    if (act.shape.kind == ActKind::bf16)
      prepare_bf16_pair(act, x0, x1, unit);
    else
      prepare_pair(act, x0, x1 != nullptr ? x1 : x0, unit);
  }
}

}  // namespace paceline::kernels::neon
