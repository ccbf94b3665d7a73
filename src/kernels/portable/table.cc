#include "kernels/portable/table.h"

#include <algorithm>
#include <cmath>

#include "kernels/kv_rotation.h"
#include "kernels/lanes/f8.h"
#include "kernels/portable/act.h"
#include "kernels/portable/codes.h"
#include "kernels/portable/delta.h"
#include "kernels/portable/matmul.h"

namespace paceline::kernels::portable {
namespace {

float inverse_rms(const float* x, int32_t width, float eps) {
  double sum = 0;
  for (int32_t i = 0; i < width; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return static_cast<float>(1.0 / std::sqrt(sum / width + static_cast<double>(eps)));
}

void rms_norm(const float* x, const float* weight, float* y, int32_t width, float eps, float scale) {
  const float factor = inverse_rms(x, width, eps) * scale;
  for (int32_t i = 0; i < width; ++i) y[i] = x[i] * factor * (weight != nullptr ? weight[i] : 1.0f);
}

void add_norm(float* x, const float* branch, const float* weight, int32_t width, float eps, float scale) {
  const float factor = inverse_rms(branch, width, eps);
  for (int32_t i = 0; i < width; ++i) x[i] = (x[i] + branch[i] * factor * weight[i]) * scale;
}

void rope(float* x, const float* cos, const float* sin, int32_t width) {
  const int32_t half = width / 2;
  for (int32_t i = 0; i < half; ++i) {
    const float a = x[i], b = x[i + half];
    x[i] = a * cos[i] - b * sin[i];
    x[i + half] = b * cos[i] + a * sin[i];
  }
}

void gelu_mul(float* y, const float* x, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const double a = static_cast<double>(y[i]);
    const double u = 0.7978845608028654 * (a + 0.044715 * a * a * a);
    y[i] = static_cast<float>(0.5 * a * (1.0 + std::tanh(u))) * x[i];
  }
}

void silu_mul(float* y, const float* x, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const double a = static_cast<double>(y[i]);
    y[i] = static_cast<float>(a / (1.0 + std::exp(-a))) * x[i];
  }
}

void add_scaled(float* y, const float* x, float scale, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = (y[i] + x[i]) * scale;
}

void softcap(float* y, float cap, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = cap * std::tanh(y[i] / cap);
}

void blend(float* y, float keep, const float* x, float part, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = y[i] * keep + x[i] * part;
}

float max_of(const float* x, int32_t count) { return *std::max_element(x, x + count); }

float exp_sum(float* x, float top, int32_t count) {
  float sum = 0;
  for (int32_t i = 0; i < count; ++i) {
    x[i] = std::exp(x[i] - top);
    sum += x[i];
  }
  return sum;
}

}  // namespace

const CpuTable& table() {
  static constexpr CpuTable kTable{
      .name = "portable",
      .packed_bytes = nullptr,
      .pack = nullptr,
      .pack_rows = 0,
      .act_bytes = act_bytes,
      .act_unit = 1,
      .prepare = prepare,
      .reads_f8 = true,
      .few_f8_rows = 0,
      .widen_f8 = lanes::widen_f8<void>,
      .few_scaled_rows = 0,
      .matmul = matmul,
      .matmul_page = nullptr,
      .page_products_bytes = nullptr,
      .make_page_products = nullptr,
      .block_queries = 0,
      .mix = mix,
      .turn_page = nullptr,
      .interleaves_codes = false,
      .encode = encode,
      .code_scores = code_scores,
      .code_mix = code_mix,
      .scale_scores = scale_scores,
      .encode_shares = encode_shares,
      .blend_codes = blend_codes,
      .rms_norm = rms_norm,
      .add_norm = add_norm,
      .rope = rope,
      .dequantise = dequantise,
      .gelu_mul = gelu_mul,
      .silu_mul = silu_mul,
      .add_scaled = add_scaled,
      .softcap = softcap,
      .blend = blend,
      .max_of = max_of,
      .sigmoid_mul = sigmoid_mul,
      .convolve = convolve,
      .delta_step = delta_step,
      .delta_replay = delta_replay,
      .exp_sum = exp_sum,
  };
  return kTable;
}

}  // namespace paceline::kernels::portable
