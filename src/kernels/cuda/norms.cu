// RMS norms. One block per row; the row stays in registers between the two norms.
//   x, branch, y: [rows, width]
// Bound by launches at few rows, by bytes (width * 4 * 2 to 4 per row) at many.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/rows.h"

namespace paceline::kernels::cuda {
namespace {

// The order of a row's sum follows from its width alone: threads is a function of it.
template <int kThreads, int kEach>
__global__ void __launch_bounds__(kThreads) norms_kernel(const NormsArgs args) {
  __shared__ float scratch[kThreads / 32];
  let_next_start();
  const int64_t row = blockIdx.x;
  float* x_row = args.x + row * args.width;
  float values[kEach];
  float weights[kEach], branch_weights[kEach];
  // Weights do not depend on the kernel in front.
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int32_t col = i * kThreads + static_cast<int32_t>(threadIdx.x);
    weights[i] = args.weight != nullptr && col < args.width ? args.weight[col] : 1.0f;
    branch_weights[i] = args.branch_weight != nullptr && col < args.width ? args.branch_weight[col] : 1.0f;
  }
  wait_for_previous();
  if (args.branch != nullptr) {
    float branch[kEach];
    float squares = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int32_t col = i * kThreads + static_cast<int32_t>(threadIdx.x);
      branch[i] = col < args.width ? args.branch[row * args.width + col] : 0.0f;
      values[i] = col < args.width ? x_row[col] : 0.0f;
      squares = fmaf(branch[i], branch[i], squares);
    }
    const float factor =
        rsqrtf(__fdiv_rn(block_sum<kThreads>(squares, scratch), static_cast<float>(args.width)) + args.eps);
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int32_t col = i * kThreads + static_cast<int32_t>(threadIdx.x);
      values[i] = (values[i] + branch[i] * factor * branch_weights[i]) * args.branch_scale;
      if (col < args.width) x_row[col] = values[i];
      if (args.x_bf16 != nullptr && col < args.y_stride)
        reinterpret_cast<__nv_bfloat16*>(args.x_bf16)[row * args.y_stride + col] =
            __float2bfloat16_rn(col < args.width ? values[i] : 0.0f);
    }
  } else {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int32_t col = i * kThreads + static_cast<int32_t>(threadIdx.x);
      values[i] = col < args.width ? x_row[col] : 0.0f;
    }
  }
  if (args.y == nullptr && args.y_bf16 == nullptr) return;
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) squares = fmaf(values[i], values[i], squares);
  const float factor =
      rsqrtf(__fdiv_rn(block_sum<kThreads>(squares, scratch), static_cast<float>(args.width)) + args.eps) * args.scale;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int32_t col = i * kThreads + static_cast<int32_t>(threadIdx.x);
    const float value = values[i] * factor * weights[i];
    if (args.y != nullptr && col < args.width) args.y[row * args.width + col] = value;
    if (args.y_bf16 != nullptr && col < args.y_stride)
      reinterpret_cast<__nv_bfloat16*>(args.y_bf16)[row * args.y_stride + col] =
          __float2bfloat16_rn(col < args.width ? value : 0.0f);
  }
}

template <int kThreads, int kEach>
void start(const NormsArgs& args, Stream stream) {
  launch(norms_kernel<kThreads, kEach>, dim3(static_cast<unsigned>(args.rows)), dim3(kThreads), 0, stream, true, args);
}

}  // namespace

void norms(const NormsArgs& args, Stream stream) {
  const int32_t width = args.width > args.y_stride ? args.width : args.y_stride;
  if (width <= 256)
    start<64, 4>(args, stream);
  else if (width <= 1024)
    start<256, 4>(args, stream);
  else if (width <= 4096)
    start<512, 8>(args, stream);
  else if (width <= 5632)
    start<512, 11>(args, stream);
  else
    start<1024, 8>(args, stream);
}

}  // namespace paceline::kernels::cuda
