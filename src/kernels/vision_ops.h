// Operations that only the vision side needs; rules and shapes as in ops.h.
#pragma once

#include <cstdint>

namespace paceline::kernels {

// y = (x - mean) / sqrt(variance + eps) * weight + bias
struct LayerNormArgs {
  const float* x = nullptr;       // [rows, width]
  const float* weight = nullptr;  // [width]
  const float* bias = nullptr;    // [width]
  float* y = nullptr;             // [rows, width]; may be x
  int32_t rows = 0, width = 0;
  float eps = 0;
};

// y[g] = scale * the mean of the rows that group g names
struct AverageArgs {
  const float* x = nullptr;          // [any, width]
  const int32_t* members = nullptr;  // [groups, per_group], rows of x; host memory
  float* y = nullptr;                // [groups, width]; not x
  int32_t groups = 0, per_group = 0, width = 0;
  float scale = 1;
};

// y = (y + shift) * scale
struct ShiftScaleArgs {
  float* y = nullptr;            // [rows, width]
  const float* shift = nullptr;  // [width]
  const float* scale = nullptr;  // [width], or none
  int32_t rows = 0, width = 0;
};

class VisionOps {
 public:
  virtual ~VisionOps() = default;

  virtual void layer_norm(const LayerNormArgs& args) = 0;
  virtual void average(const AverageArgs& args) = 0;
  virtual void shift_scale(const ShiftScaleArgs& args) = 0;
  // y = min(max(x, low), high), both [count]; y may be x
  virtual void clamp(const float* x, float* y, float low, float high, int64_t count) = 0;
};

}  // namespace paceline::kernels
