// bf16 weights with float32 rows, many of them: routers of prompts. A warp has a tile of 16 outputs and four rows, so
// that what it reads serves 64 sums, or one; each sum is that of matmul_f32: the same lane takes the same columns in
// the same order. Bound: operations of the plain pipelines.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/matmul.h"

namespace paceline::kernels::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

// kWarpRows: of few rows, warps have one each, so that there are more of them.
template <int kWarpRows>
__global__ void __launch_bounds__(kThreads) many_rows_kernel(const __grid_constant__ MatmulArgs args) {
  let_next_start();
  wait_for_previous();
  const Product& product = args.out[0];
  const Weight& w = product.weight;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, t = lane % 4;
  const int32_t tile = static_cast<int32_t>(blockIdx.x);
  const int32_t first_row = (static_cast<int32_t>(blockIdx.y) * kWarps + warp) * kWarpRows;
  if (first_row >= args.rows) return;
  const int32_t steps = w.cols / 16;
  const auto* values = static_cast<const uint4*>(w.values) + static_cast<int64_t>(tile) * (w.depth() / 16) * 32;
  const float* x[kWarpRows];
#pragma unroll
  for (int r = 0; r < kWarpRows; ++r)
    x[r] = static_cast<const float*>(args.x.values) +
           static_cast<int64_t>(min(first_row + r, args.rows - 1)) * args.x.stride;
  float sums[kTileOutputs][kWarpRows] = {};
  for (int32_t step = lane / 4; step < steps; step += 8) {
    float2 columns[2][kWarpRows];
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int r = 0; r < kWarpRows; ++r)
        columns[half][r] = *reinterpret_cast<const float2*>(x[r] + step * 16 + half * 8 + t * 2);
#pragma unroll
    for (int g = 0; g < 8; ++g) {
      const uint4 four = values[step * 32 + g * 4 + t];  // outputs g, g + 8 of the first columns, then of the second
      const uint32_t pairs[2][2] = {{four.x, four.y}, {four.z, four.w}};
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int high = 0; high < 2; ++high)
#pragma unroll
          for (int r = 0; r < kWarpRows; ++r) {
            float& sum = sums[g + high * 8][r];
            sum = fmaf(bf16_bits_to_float(pairs[half][high] & 0xffffu), columns[half][r].x, sum);
            sum = fmaf(__uint_as_float(pairs[half][high] & 0xffff0000u), columns[half][r].y, sum);
          }
    }
  }
#pragma unroll
  for (int o = 0; o < kTileOutputs; ++o)
#pragma unroll
    for (int r = 0; r < kWarpRows; ++r) {
      const float value = warp_sum(sums[o][r]);
      const int32_t output = tile * kTileOutputs + o;
      if (lane == 0 && first_row + r < args.rows && output < w.rows)
        product.y[static_cast<int64_t>(first_row + r) * w.rows + output] = value;
    }
}

// The same of few rows, one a warp: a block's tile lies in shared memory, where it is put before the kernel in front
// has ended, and rows are asked for some steps ahead. Else a step is a way to the cache and back, and 22 of them take
// 31 µs (26B-A4B's router of 100 rows).
constexpr int kAhead = 4;

// Where a step's 16 bytes of outputs g and g + 8 lie: eight lanes read eight steps at once.
__device__ __forceinline__ uint32_t tile_chunk(int32_t step, int32_t chunk) {
  return static_cast<uint32_t>(step) * 512 + static_cast<uint32_t>(chunk ^ (step & 7) << 2) * 16;
}

__global__ void __launch_bounds__(kThreads) few_rows_kernel(const __grid_constant__ MatmulArgs args) {
  extern __shared__ uint4 stored[];
  const Product& product = args.out[0];
  const Weight& w = product.weight;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, t = lane % 4;
  const int32_t tile = static_cast<int32_t>(blockIdx.x), steps = w.cols / 16;
  const uint32_t shared = shared_address(stored);
  const auto* values = static_cast<const uint4*>(w.values) + static_cast<int64_t>(tile) * (w.depth() / 16) * 32;
  for (int32_t i = threadIdx.x; i < steps * 32; i += kThreads)
    copy16_async(shared + tile_chunk(i / 32, i % 32), values + i, true);
  commit_copies();
  let_next_start();
  wait_for_previous();
  const int32_t row = static_cast<int32_t>(blockIdx.y) * kWarps + warp;
  const float* x =
      static_cast<const float*>(args.x.values) + static_cast<int64_t>(min(row, args.rows - 1)) * args.x.stride;
  float2 columns[kAhead][2];
  const auto ask = [&](int32_t step) {
#pragma unroll
    for (int i = 0; i < kAhead; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        if (step + i * 8 < steps)
          columns[i][half] = *reinterpret_cast<const float2*>(x + (step + i * 8) * 16 + half * 8 + t * 2);
  };
  ask(lane / 4);
  wait_copies<0>();
  __syncthreads();
  float sums[kTileOutputs] = {};
  for (int32_t first = lane / 4; first < steps; first += kAhead * 8) {
    float2 here[kAhead][2];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) here[i][0] = columns[i][0], here[i][1] = columns[i][1];
    ask(first + kAhead * 8);
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int32_t step = first + i * 8;
      if (step >= steps) break;
#pragma unroll
      for (int g = 0; g < 8; ++g) {
        const uint4 four = shared_four(shared + tile_chunk(step, g * 4 + t));
        const uint32_t pairs[2][2] = {{four.x, four.y}, {four.z, four.w}};
#pragma unroll
        for (int half = 0; half < 2; ++half)
#pragma unroll
          for (int high = 0; high < 2; ++high) {
            float& sum = sums[g + high * 8];
            sum = fmaf(bf16_bits_to_float(pairs[half][high] & 0xffffu), here[i][half].x, sum);
            sum = fmaf(__uint_as_float(pairs[half][high] & 0xffff0000u), here[i][half].y, sum);
          }
      }
    }
  }
#pragma unroll
  for (int o = 0; o < kTileOutputs; ++o) {
    const float value = warp_sum(sums[o]);
    const int32_t output = tile * kTileOutputs + o;
    if (lane == 0 && row < args.rows && output < w.rows)
      product.y[static_cast<int64_t>(row) * w.rows + output] = value;
  }
}

}  // namespace

bool can_multiply_many_f32(const MatmulArgs& args) {
  const Product& p = args.out[0];
  return args.rows > kNarrowRows && args.count == 1 && !p.gated() && p.weight.format == Format::bf16 &&
         p.weight.cols % 16 == 0 && args.experts.plan == nullptr;
}

void matmul_f32_many(const MatmulArgs& args, Stream stream) {
  constexpr int32_t kFewRows = 256;
  constexpr size_t kMostShared = size_t{96} << 10;
  const Weight& w = args.out[0].weight;
  const auto start = [&](auto* kernel, int32_t warp_rows, size_t shared) {
    const dim3 grid(static_cast<unsigned>(w.tiles()), static_cast<unsigned>(ceil_div(args.rows, kWarps * warp_rows)));
    launch(kernel, grid, dim3(kThreads), shared, stream, true, args);
  };
  const size_t tile_bytes = static_cast<size_t>(w.cols) * kTileOutputs * 2;
  if (args.rows > kFewRows)
    start(many_rows_kernel<4>, 4, 0);
  else if (tile_bytes <= kMostShared)
    start(few_rows_kernel, 1, tile_bytes);
  else
    start(many_rows_kernel<1>, 1, 0);
}

}  // namespace paceline::kernels::cuda
