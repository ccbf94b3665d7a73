// The part of a table that lanes/ fills for every instruction set.
#pragma once

#include "kernels/cpu_table.h"
#include "kernels/lanes/codes.h"
#include "kernels/lanes/delta.h"
#include "kernels/lanes/elementwise.h"
#include "kernels/lanes/f8.h"
#include "kernels/lanes/matmul_f32.h"
#include "kernels/portable/codes.h"
#include "kernels/portable/matmul.h"

namespace paceline::kernels::lanes {

template <class V>
constexpr CpuTable elementwise_table(const char* name) {
  CpuTable table{};
  table.name = name;
  table.encode = encode<V>;
  table.code_scores = portable::code_scores;
  table.code_mix = portable::code_mix;
  table.scale_scores = scale_scores<V>;
  table.encode_shares = encode_shares<V>;
  table.blend_codes = blend_codes<V>;
  table.rms_norm = rms_norm<V>;
  table.add_norm = add_norm<V>;
  table.rope = rope<V>;
  table.dequantise = portable::dequantise;
  table.widen_f8 = widen_f8<V>;
  table.gelu_mul = gelu_mul<V>;
  table.silu_mul = silu_mul<V>;
  table.add_scaled = add_scaled<V>;
  table.softcap = softcap<V>;
  table.blend = blend<V>;
  table.max_of = max_of<V>;
  table.sigmoid_mul = sigmoid_mul<V>;
  table.convolve = convolve<V>;
  table.delta_step = delta_step<V>;
  table.delta_replay = delta_replay<V>;
  table.exp_sum = exp_sum<V>;
  return table;
}

}  // namespace paceline::kernels::lanes
