// What recurrent layers need, in plain loops.
#pragma once

#include "kernels/cpu_table.h"

namespace paceline::kernels::portable {

void sigmoid_mul(float* y, const float* gate, int64_t count);
void convolve(const Convolution& c, float* y);
void delta_step(const DeltaStep& step);
void delta_replay(const DeltaStep& step);

}  // namespace paceline::kernels::portable
