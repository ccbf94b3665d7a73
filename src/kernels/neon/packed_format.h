// Which of the quantised formats a matrix has, as constants: one place for both tables of this processor.
#pragma once

#include <cstdint>

#include "tensor/matrix.h"

namespace paceline::kernels::neon {

// Calls run.template operator()<kNibbles, kGroup, Scale>().
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
