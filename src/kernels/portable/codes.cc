#include "kernels/portable/codes.h"

#include <algorithm>
#include <cmath>

#include "kernels/ops.h"

namespace paceline::kernels::portable {

void code_scores(const CodeRows& w, const int8_t* x, const int32_t* /*sums*/, int32_t rows, int32_t* y) {
  for (int32_t r = 0; r < rows; ++r)
    for (int32_t t = 0; t < kPageTokens; ++t) {
      const int8_t* row = x + static_cast<int64_t>(r) * w.cols;
      int32_t sum = 0;
      for (int32_t k = 0; k < w.cols; ++k) sum += w.codes[code_at(w.order, w.stride, t, k)] * row[k];
      y[r * kPageTokens + t] = sum;
    }
}

void code_mix(const CodeRows& w, const uint8_t* x, int32_t rows, int32_t* y) {
  std::fill_n(y, static_cast<int64_t>(rows) * w.cols, 0);
  for (int32_t r = 0; r < rows; ++r)
    for (int32_t t = 0; t < kPageTokens; ++t) {
      const int32_t share = x[r * kPageTokens + t];
      int32_t* out = y + static_cast<int64_t>(r) * w.cols;
      for (int32_t k = 0; k < w.cols; ++k) out[k] += share * w.codes[code_at(w.order, w.stride, t, k)];
    }
}

void scale_scores(const int32_t* x, float part, const float* scales, bool add, float* y) {
  for (int32_t t = 0; t < kPageTokens; ++t) {
    const float score = static_cast<float>(x[t]) * (part * scales[t]);
    y[t] = add ? y[t] + score : score;
  }
}

float encode_shares(const float* x, const float* scales, uint8_t* codes) {
  float top = 0;
  for (int32_t t = 0; t < kPageTokens; ++t) top = std::max(top, x[t] * scales[t]);
  const float inverse = top > 0x1p-100f ? 255.0f / top : 0.0f;
  for (int32_t t = 0; t < kPageTokens; ++t)
    codes[t] = static_cast<uint8_t>(std::lrintf(std::min(255.0f, x[t] * scales[t] * inverse)));
  return inverse > 0 ? top / 255.0f : 0.0f;
}

void blend_codes(float* y, float keep, const int32_t* x, float part, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = y[i] * keep + static_cast<float>(x[i]) * part;
}

}  // namespace paceline::kernels::portable
