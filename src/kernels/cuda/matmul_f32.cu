// Weights with float32 rows: for checks in full precision, and for routers, whose near ties decide which
// experts are read. One warp per output, and one row or eight; lanes stride over K, so the order follows from K alone.
// Bound by launches; no share claimed.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/dots.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/matmul.h"

namespace paceline::kernels::cuda {
namespace {

constexpr int kThreads = 128;

// kRows rows share a read of the weights; each has the sums it would have alone.
template <int kRows>
__global__ void __launch_bounds__(kThreads) matmul_f32_kernel(const __grid_constant__ MatmulArgs args) {
  let_next_start();
  wait_for_previous();
  int32_t p = 0;
  while (p + 1 < args.count && static_cast<int32_t>(blockIdx.x) >= args.out[p + 1].first_block) ++p;
  const Product& product = args.out[p];
  const int32_t local = static_cast<int32_t>(blockIdx.x) - product.first_block;
  const int32_t output = local % product.units * (kThreads / 32) + static_cast<int32_t>(threadIdx.x / 32);
  const int lane = threadIdx.x % 32;
  int64_t expert = 0;
  int32_t first_slot = 0, rows = args.rows;
  if (args.experts.plan != nullptr) {
    const int32_t at = local / product.units;
    if (at >= args.experts.plan->touched) return;
    expert = args.experts.plan->expert[at];
    first_slot = args.experts.plan->first[at];
    rows = args.experts.plan->first[at + 1] - first_slot;
  }
  const int32_t first_row = static_cast<int32_t>(blockIdx.y) * kRows;
  if (first_row >= rows || output >= product.weight.rows) return;
  const float* x[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int32_t row = min(first_row + r, rows - 1);
    int32_t from = row;
    if (args.experts.plan != nullptr)
      from = args.experts.slot_row != nullptr ? args.experts.slot_row[first_slot + row] : first_slot + row;
    x[r] = static_cast<const float*>(args.x.values) + static_cast<int64_t>(from) * args.x.stride;
  }
  const auto values_of = [&](const Weight& w) { return static_cast<const char*>(w.values) + expert * w.stride; };
  const auto scaled = [&](const Weight& w, float sum) {
    if (w.factors == nullptr) return sum;
    return static_cast<float>(static_cast<double>(sum) * w.factors[expert * w.rows + output]);
  };
  float sums[kRows], up[kRows];
  lane_dots<kRows>(product.weight, values_of(product.weight), output, x, lane, sums);
  if (product.gated()) lane_dots<kRows>(product.up, values_of(product.up), output, x, lane, up);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    float value = scaled(product.weight, warp_sum(sums[r]));
    if (product.gated()) value = gate(product.silu, value) * scaled(product.up, warp_sum(up[r]));
    if (lane == 0 && first_row + r < rows)
      product.y[static_cast<int64_t>(first_slot + first_row + r) * product.weight.rows + output] = value;
  }
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
  const int32_t at_once = args.rows < 8 ? 1 : 8;
  const dim3 grid(static_cast<unsigned>(args.blocks), static_cast<unsigned>(ceil_div(args.rows, at_once)));
  if (at_once == 1)
    launch(matmul_f32_kernel<1>, grid, dim3(kThreads), 0, stream, true, args);
  else
    launch(matmul_f32_kernel<8>, grid, dim3(kThreads), 0, stream, true, args);
}

}  // namespace paceline::kernels::cuda
