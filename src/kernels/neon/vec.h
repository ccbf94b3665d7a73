// The 128-bit vector of float32 that lanes/ is written against.
#pragma once

#include <arm_neon.h>

#include <cstdint>

namespace paceline::kernels::neon {

struct Vec {
  using F = float32x4_t;
  static constexpr int kLanes = 4;
  static constexpr int kTogether = 4;

  static F load(const float* p) { return vld1q_f32(p); }
  static F load_ints(const int32_t* p) { return vcvtq_f32_s32(vld1q_s32(p)); }
  static void store(float* p, F v) { vst1q_f32(p, v); }
  static F set1(float v) { return vdupq_n_f32(v); }
  static F add(F a, F b) { return vaddq_f32(a, b); }
  static F sub(F a, F b) { return vsubq_f32(a, b); }
  static F mul(F a, F b) { return vmulq_f32(a, b); }
  static F div(F a, F b) { return vdivq_f32(a, b); }
  static F max(F a, F b) { return vmaxq_f32(a, b); }
  // Also where v is not a number.
  static F at_least(F v, F least) { return vmaxnmq_f32(v, least); }
  static F min(F a, F b) { return vminq_f32(a, b); }
  static F fma(F a, F b, F c) { return vfmaq_f32(c, a, b); }
  static F round(F v) { return vrndnq_f32(v); }
  static F pow2(F n) { return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(vcvtq_s32_f32(n), vdupq_n_s32(127)), 23)); }
  static F zero_below(F x, F limit, F y) {
    return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(y), vcltq_f32(x, limit)));
  }
  static float sum(F v) { return vaddvq_f32(v); }
  static float top(F v) { return vmaxvq_f32(v); }
  // The sums of four, with the same additions.
  static void sum4(F a, F b, F c, F d, float* out) { vst1q_f32(out, vpaddq_f32(vpaddq_f32(a, b), vpaddq_f32(c, d))); }
  static F load_bf16(const uint16_t* p) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16)); }
  static F load_f16(const uint16_t* p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }
};

}  // namespace paceline::kernels::neon
