// What both tables of this processor know of quantised matrices.
#pragma once

#include <cstdint>

#include "tensor/matrix.h"

namespace paceline::kernels::neon {

// 1.5 * 2^23: an int32 in ±2^22 added to its bits, read as float32, is that float plus the integer. To subtract the
// float is half the work of a conversion. The sum of a group is at most 128 * 255 * 127 < 2^22.
inline constexpr int32_t kMagicBits = 0x4b400000;
inline constexpr float kMagic = 12582912.0f;

// Which format a matrix has, as constants: calls run.template operator()<kNibbles, kGroup, Scale>().
template <class Run>
void with_format(const Matrix& w, const Run& run) {
  const auto with_scale = [&]<bool kNibbles, int kGroup>() {
    if (w.scale_dtype == DType::bf16) return run.template operator()<kNibbles, kGroup, uint16_t>();
    run.template operator()<kNibbles, kGroup, float>();
  };
  const auto with_group = [&]<bool kNibbles>() {
    switch (w.group) {
      case 32: return with_scale.template operator()<kNibbles, 32>();
      case 64: return with_scale.template operator()<kNibbles, 64>();
      default: return with_scale.template operator()<kNibbles, 128>();
    }
  };
  if (w.format == WeightFormat::q4) return with_group.template operator()<true>();
  with_group.template operator()<false>();
}

}  // namespace paceline::kernels::neon
