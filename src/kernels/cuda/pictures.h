// What only pictures need on the device, as plain arguments.
#pragma once

#include "kernels/cuda/attention.h"

namespace paceline::kernels::cuda {

// Equal arguments are equal bytes: see Launches.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"

// heads(), with a head in so many equal parts, each rotated by itself with its share of the cosines.
inline constexpr int32_t kMaxPictureHead = 256;
void heads_in_parts(const HeadsArgs& args, int32_t parts, Stream stream);

// y = (x - mean) / sqrt(variance + eps) * weight + bias
struct LayerNormRows {
  const float* x = nullptr;       // [rows, width]
  const float* weight = nullptr;  // [width]
  const float* bias = nullptr;    // [width]
  float* y = nullptr;             // [rows, width]; may be x
  int32_t rows = 0, width = 0;
  float eps = 0;
  int32_t filler = 0;
};
void layer_norm(const LayerNormRows& args, Stream stream);

// y[g] = factor * the sum of the rows that group g names, in their order
struct AverageRows {
  const float* x = nullptr;          // [any, width]
  const int32_t* members = nullptr;  // [groups, per_group], device memory
  float* y = nullptr;                // [groups, width]
  int32_t groups = 0, per_group = 0, width = 0;
  float factor = 1;
};
void average(const AverageRows& args, Stream stream);

// y = (y + shift) * scale
struct ShiftScaleRows {
  float* y = nullptr;            // [rows, width]
  const float* shift = nullptr;  // [width]
  const float* scale = nullptr;  // [width], or none
  int32_t rows = 0, width = 0;
};
void shift_scale(const ShiftScaleRows& args, Stream stream);

// y = min(max(x, low), high)
void clamp(const float* x, float* y, float low, float high, int64_t count, Stream stream);

#pragma GCC diagnostic pop

}  // namespace paceline::kernels::cuda
