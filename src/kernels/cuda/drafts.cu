// Around a drafter's products: its tokens, its input, and the best token among the best clusters. Bound by launches.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/order.cuh"
#include "kernels/cuda/rounds.h"

namespace paceline::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// A forward begins with it: what was enqueued in front is done before anything behind it starts, which may then read
// pages without waiting.
__global__ void pick_kernel(const PickRows args) {
  wait_for_previous();
  let_next_start();
  const int32_t i = static_cast<int32_t>(blockIdx.x * kThreads + threadIdx.x);
  if (i >= args.rows) return;
  const int32_t from = args.from != nullptr ? args.from[i] : -1;
  args.to[i] = from >= 0 ? args.drafted[from] : args.given[i];
}

__global__ void beside_kernel(const BesideArgs args) {
  let_next_start();
  wait_for_previous();
  const int32_t col = static_cast<int32_t>(blockIdx.x * kThreads + threadIdx.x);
  const int64_t row = blockIdx.y;
  if (col >= 2 * args.width) return;
  const float value = col < args.width ? args.a[row * args.width + col] : args.b[row * args.width + col - args.width];
  args.y[row * 2 * args.width + col] = value;
  if (args.y_bf16 != nullptr) args.y_bf16[row * args.y_stride + col] = static_cast<uint16_t>(pack_bf16(value, 0.0f));
}

// The best clusters of a row, best first; of equal ones the first.
__global__ void __launch_bounds__(1024) select_clusters_kernel(const ClusterRows args) {
  extern __shared__ uint64_t keys[];
  let_next_start();
  wait_for_previous();
  const int64_t row = blockIdx.x;
  int32_t count = 2;
  while (count < args.centroids) count *= 2;
  for (int32_t i = static_cast<int32_t>(threadIdx.x); i < count; i += static_cast<int32_t>(blockDim.x)) {
    const float score = i < args.centroids ? args.centroid_scores[row * args.centroids + i] : 0.0f;
    // What is not a number comes last of those that are there.
    keys[i] = i < args.centroids ? max(key_of(score, i), key_of(-INFINITY, i)) : 0;
  }
  sort_keys(keys, count);
  for (int32_t i = static_cast<int32_t>(threadIdx.x); i < args.top; i += static_cast<int32_t>(blockDim.x))
    args.chosen[row * args.top + i] = place_of(keys[i]);
}

// One block per row and cluster: the best of the cluster's tokens. A warp takes 16 tokens after another.
__global__ void __launch_bounds__(kThreads) score_clusters_kernel(const ClusterRows args) {
  __shared__ float x[kMostClusterHidden];
  __shared__ uint64_t scratch[kThreads / 32];
  let_next_start();
  wait_for_previous();
  const int64_t place = static_cast<int64_t>(blockIdx.y) * args.top + blockIdx.x;
  const int32_t cluster = args.chosen[place];
  Weight w = args.clusters;
  w.values = static_cast<const char*>(w.values) + cluster * w.stride;
  if (w.factors != nullptr) w.factors += static_cast<int64_t>(cluster) * w.rows;
  for (int32_t i = static_cast<int32_t>(threadIdx.x); i < w.cols; i += kThreads)
    x[i] = args.x[static_cast<int64_t>(blockIdx.y) * w.cols + i];
  __syncthreads();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int32_t* tokens = args.tokens + static_cast<int64_t>(cluster) * w.rows;
  uint64_t best = 0;
  if (w.format == Format::bf16 && w.cols % 16 == 0 && !args.exact) {
    for (int32_t tile = warp; tile < w.tiles(); tile += kThreads / 32) {
      const char* stream = static_cast<const char*>(w.values) + static_cast<int64_t>(tile) * (w.depth() / 16) * 512;
      float acc[4] = {};
#pragma unroll 4
      for (int32_t step = 0; step < w.cols / 16; ++step) {
        const uint4 a = load_once(stream + step * 512 + lane * 16);
        // The row stands in the first of eight columns.
        const float* b = x + step * 16 + t * 2;
        mma_bf16(acc, a, g == 0 ? pack_bf16(b[0], b[1]) : 0u, g == 0 ? pack_bf16(b[8], b[9]) : 0u);
      }
      if (t != 0) continue;
      for (int half = 0; half < 2; ++half) {
        const int32_t output = tile * 16 + g + half * 8;
        if (output < w.rows) best = max(best, key_of(acc[half * 2], tokens[output]));
      }
    }
  } else {
    for (int32_t output = warp; output < w.rows; output += kThreads / 32) {
      float sum = 0;
      for (int32_t col = lane; col < w.cols; col += 32) sum = fmaf(element(w, output, col), x[col], sum);
      best = max(best, key_of(warp_sum(sum), tokens[output]));
    }
  }
  best = block_max(best, scratch);
  if (threadIdx.x == 0) args.keys[place] = best;
}

__global__ void best_cluster_kernel(const ClusterRows args) {
  __shared__ uint64_t scratch[kThreads / 32];
  let_next_start();
  wait_for_previous();
  uint64_t best = 0;
  for (int32_t i = static_cast<int32_t>(threadIdx.x); i < args.top; i += kThreads)
    best = max(best, args.keys[static_cast<int64_t>(blockIdx.x) * args.top + i]);
  best = block_max(best, scratch);
  if (threadIdx.x == 0) args.best[blockIdx.x] = best == 0 ? 0 : place_of(best);
}

}  // namespace

void pick_tokens(const PickRows& args, Stream stream) {
  launch(pick_kernel, dim3(static_cast<unsigned>(ceil_div(args.rows, kThreads))), dim3(kThreads), 0, stream, true,
         args);
}

void side_by_side(const BesideArgs& args, Stream stream) {
  const dim3 grid(static_cast<unsigned>(ceil_div(2 * args.width, kThreads)), static_cast<unsigned>(args.rows));
  launch(beside_kernel, grid, dim3(kThreads), 0, stream, true, args);
}

void best_of_clusters(const ClusterRows& args, Stream stream) {
  int32_t count = 2;
  while (count < args.centroids) count *= 2;
  const auto rows = static_cast<unsigned>(args.rows);
  launch(select_clusters_kernel, dim3(rows), dim3(1024), static_cast<size_t>(count) * sizeof(uint64_t), stream, true,
         args);
  launch(score_clusters_kernel, dim3(static_cast<unsigned>(args.top), rows), dim3(kThreads), 0, stream, true, args);
  launch(best_cluster_kernel, dim3(rows), dim3(kThreads), 0, stream, true, args);
}

}  // namespace paceline::kernels::cuda
