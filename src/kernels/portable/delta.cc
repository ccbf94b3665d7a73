#include "kernels/portable/delta.h"

#include <algorithm>
#include <cmath>

namespace paceline::kernels::portable {
namespace {

float sigmoid(float x) { return static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(x)))); }

}  // namespace

void sigmoid_mul(float* y, const float* gate, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] *= sigmoid(gate[i]);
}

void convolve(const Convolution& c, float* y) {
  for (int32_t channel = c.begin; channel < c.end; ++channel) {
    float sum = 0;
    for (int32_t j = 0; j < c.kernel; ++j) sum += c.taps[j * c.stride + channel] * c.rows[j][channel];
    y[channel] = sum * sigmoid(sum);
  }
}

void delta_step(const DeltaStep& step) {
  std::fill_n(step.d, step.columns, 0.0f);
  for (int32_t key = 0; key < step.keys; ++key) {
    const float* row = step.state + key * step.stride;
    for (int32_t c = 0; c < step.columns; ++c) step.d[c] += row[c] * step.k[key];
  }
  for (int32_t c = 0; c < step.columns; ++c) step.d[c] = step.beta * (step.v[c] - step.decay * step.d[c]);
  delta_replay(step);
  std::fill_n(step.o, step.columns, 0.0f);
  for (int32_t key = 0; key < step.keys; ++key) {
    const float* row = step.state + key * step.stride;
    for (int32_t c = 0; c < step.columns; ++c) step.o[c] += row[c] * step.q[key];
  }
}

void delta_replay(const DeltaStep& step) {
  for (int32_t key = 0; key < step.keys; ++key) {
    float* row = step.state + key * step.stride;
    for (int32_t c = 0; c < step.columns; ++c) row[c] = row[c] * step.decay + step.k[key] * step.d[c];
  }
}

}  // namespace paceline::kernels::portable
