// Unquantised weights with float32 rows: for checks in full precision, and for routers, whose near ties decide which
// experts are read. One warp per output and row; lanes stride over K, so the order follows from K alone.
// Bound by launches; no share claimed.
#include <cuda_fp16.h>

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/matmul.h"

namespace paceline::kernels::cuda {
namespace {

constexpr int kThreads = 128;

// The lane's share of one dot product.
__device__ float lane_dot(const Weight& w, const char* values, int32_t output, const float* x, int lane) {
  float sum = 0;
  if (w.format == Format::bf16) {
    // Lanes of a fragment's row: four per step of 16 columns, so eight steps at once.
    const int g = output % 8, high = output / 8 % 2, t = lane % 4;
    const int32_t steps = w.depth() / 16;
    const auto* tile = reinterpret_cast<const uint32_t*>(values) + static_cast<int64_t>(output / 16) * steps * 128;
    for (int32_t step = lane / 4; step < steps; step += 8) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const uint32_t pair = tile[(step * 32 + g * 4 + t) * 4 + half * 2 + high];
        const int32_t col = step * 16 + half * 8 + t * 2;
        if (col < w.cols) sum = fmaf(bf16_bits_to_float(pair & 0xffffu), x[col], sum);
        if (col + 1 < w.cols) sum = fmaf(__uint_as_float(pair & 0xffff0000u), x[col + 1], sum);
      }
    }
    return sum;
  }
  const int64_t row = static_cast<int64_t>(output) * w.cols;
  for (int32_t k = lane; k < w.cols; k += 32) {
    const float value = w.format == Format::f32 ? reinterpret_cast<const float*>(values)[row + k]
                                                : __half2float(reinterpret_cast<const __half*>(values)[row + k]);
    sum = fmaf(value, x[k], sum);
  }
  return sum;
}

__global__ void __launch_bounds__(kThreads) matmul_f32_kernel(const __grid_constant__ MatmulArgs args) {
  let_next_start();
  wait_for_previous();
  int32_t p = 0;
  while (p + 1 < args.count && static_cast<int32_t>(blockIdx.x) >= args.out[p + 1].first_block) ++p;
  const Product& product = args.out[p];
  const int32_t units = product.units;
  const int32_t local = static_cast<int32_t>(blockIdx.x) - product.first_block;
  const int32_t output = local % units * (kThreads / 32) + static_cast<int32_t>(threadIdx.x / 32);
  const int lane = threadIdx.x % 32;
  int64_t expert = 0;
  int32_t from = static_cast<int32_t>(blockIdx.y), to = from;
  if (args.experts.plan != nullptr) {
    const int32_t at = local / units;
    if (at >= args.experts.plan->touched) return;
    expert = args.experts.plan->expert[at];
    const int32_t first = args.experts.plan->first[at];
    if (from >= args.experts.plan->first[at + 1] - first) return;
    to = first + from;
    from = args.experts.slot_row != nullptr ? args.experts.slot_row[to] : to;
  }
  if (output >= product.weight.rows) return;
  const float* x = static_cast<const float*>(args.x.values) + static_cast<int64_t>(from) * args.x.stride;
  const auto values_of = [&](const Weight& w) { return static_cast<const char*>(w.values) + expert * w.stride_values; };
  float value = warp_sum(lane_dot(product.weight, values_of(product.weight), output, x, lane));
  if (product.gated()) value = gelu(value) * warp_sum(lane_dot(product.up, values_of(product.up), output, x, lane));
  if (lane == 0) product.y[static_cast<int64_t>(to) * product.weight.rows + output] = value;
}

}  // namespace

void matmul_f32(MatmulArgs args, Stream stream) {
  args.blocks = 0;
  const int32_t matrices = args.experts.plan != nullptr ? args.experts.most_touched : 1;
  for (int32_t i = 0; i < args.count; ++i) {
    args.out[i].first_block = args.blocks;
    args.out[i].units = ceil_div(args.out[i].weight.rows, kThreads / 32);
    args.blocks += args.out[i].units * matrices;
  }
  launch(matmul_f32_kernel, dim3(static_cast<unsigned>(args.blocks), static_cast<unsigned>(args.rows)), dim3(kThreads), 0,
         stream, true, args);
}

}  // namespace paceline::kernels::cuda
