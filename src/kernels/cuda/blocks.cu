// What drafters of whole blocks do beside products and attention. Bound by launches; the candidates by a pass over the
// logits.
#include "kernels/cuda/blocks.h"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/order.cuh"
#include "kernels/cuda/race.cuh"

namespace paceline::kernels::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void join_kernel(const JoinRows args) {
  let_next_start();
  wait_for_previous();
  const int32_t col = static_cast<int32_t>(blockIdx.x * kThreads + threadIdx.x);
  const int64_t row = blockIdx.y, width = int64_t{args.parts} * args.width;
  if (col >= width) return;
  const int64_t part = col / args.width, from = part * args.from_rows + args.rows[row];
  const float value = args.from[from * args.width + col % args.width];
  args.to[row * width + col] = value;
  if (args.to_bf16 != nullptr)
    reinterpret_cast<__nv_bfloat16*>(args.to_bf16)[row * args.to_stride + col] = __float2bfloat16_rn(value);
}

__global__ void block_conv_kernel(const ConvRows args) {
  let_next_start();
  wait_for_previous();
  const int32_t col = static_cast<int32_t>(blockIdx.x * kThreads + threadIdx.x);
  const int64_t row = blockIdx.y;
  if (col >= args.width) return;
  const int32_t groups = args.width / args.group, taps = min(args.taps, args.in_block[row] + 1);
  const float* own = args.own + row * args.own_stride + col / args.group;
  float sum = 0;
  for (int32_t tap = 0; tap < taps; ++tap)
    sum = fmaf(args.base[static_cast<int64_t>(tap) * args.width + col] + own[tap * groups],
               args.x[(row - tap) * args.width + col], sum);
  args.y[row * args.width + col] = sum;
  if (args.y_bf16 != nullptr)
    reinterpret_cast<__nv_bfloat16*>(args.y_bf16)[row * args.y_stride + col] = __float2bfloat16_rn(sum);
}

constexpr int kRowThreads = 1024;

// The best few of a row, a block each. A thread knows the best that is left of its own columns; when it is taken, the
// thread's warp looks for the next.
__global__ void __launch_bounds__(kRowThreads) candidates_kernel(const FollowRows args) {
  __shared__ uint64_t scratch[kRowThreads / 32];
  let_next_start();
  wait_for_previous();
  const float* logits = args.logits + static_cast<int64_t>(blockIdx.x) * args.vocab;
  const auto thread = static_cast<int32_t>(threadIdx.x), lane = thread % 32;
  uint64_t mine = 0;
#pragma unroll 8
  for (int32_t id = thread; id < args.vocab; id += kRowThreads) mine = max(mine, key_of(logits[id], id));
  for (int32_t i = 0; i < args.top; ++i) {
    const uint64_t best = block_max(mine, scratch);
    if (thread == 0) args.candidates[static_cast<int64_t>(blockIdx.x) * args.top + i] = best;
    const int32_t owner = best == 0 ? -1 : place_of(best) % kRowThreads;
    if (owner / 32 != thread / 32 || owner < 0) continue;
    uint64_t next = 0;
    for (int32_t id = owner + lane * kRowThreads; id < args.vocab; id += 32 * kRowThreads) {
      const uint64_t key = key_of(logits[id], id);
      if (key < best) next = max(next, key);
    }
    for (int offset = 16; offset > 0; offset /= 2) next = max(next, __shfl_xor_sync(~0u, next, offset));
    if (thread == owner) mine = next;
  }
}

// A block per chain, row after row: a warp scores some candidates, the first one takes the best.
__global__ void __launch_bounds__(kThreads) follow_kernel(const FollowRows args) {
  __shared__ float scores[kMostCandidates];
  __shared__ int32_t previous;
  let_next_start();
  wait_for_previous();
  const DraftChain chain = args.chains[blockIdx.x];
  const int32_t rank = args.before.cols, lane = static_cast<int32_t>(threadIdx.x % 32);
  if (threadIdx.x == 0) previous = chain.newest;
  for (int32_t d = 0; d < chain.count; ++d) {
    __syncthreads();
    const int64_t row = chain.first_row + d;
    const uint64_t* candidates = args.candidates + row * args.top;
    for (auto i = static_cast<int32_t>(threadIdx.x / 32); i < args.top; i += kThreads / 32) {
      const int32_t id = candidates[i] == 0 ? 0 : place_of(candidates[i]);
      float sum = 0;
      for (int32_t r = lane; r < rank; r += 32)
        sum = fmaf(element(args.before, previous, r) * args.weighed[row * rank + r], element(args.after, id, r), sum);
      sum = warp_sum(sum);
      if (lane == 0) scores[i] = candidates[i] == 0 ? -INFINITY : value_of_key(candidates[i]) + sum;
    }
    __syncthreads();
    if (threadIdx.x != 0) continue;
    int32_t best = 0;
    for (int32_t i = 1; i < args.top; ++i)
      if (scores[i] > scores[best]) best = i;
    int32_t token = candidates[best] == 0 ? 0 : place_of(candidates[best]);
    if (chain.temperature > 0) {
      Racer winner;
      const double largest = static_cast<double>(scores[best]), heat = static_cast<double>(chain.temperature);
      for (int32_t i = 0; i < args.top; ++i) {
        const double weight = exp((static_cast<double>(scores[i]) - largest) / heat);
        if (weight > 0)
          race(winner, chain.seed, chain.index + static_cast<uint64_t>(d), place_of(candidates[i]), weight);
      }
      if (winner.id >= 0) token = winner.id;
    }
    args.drafts[row] = token;
    previous = token;
  }
}

}  // namespace

void join_rows(const JoinRows& args, Stream stream) {
  const dim3 grid(static_cast<unsigned>(ceil_div(args.parts * args.width, kThreads)),
                  static_cast<unsigned>(args.count));
  launch(join_kernel, grid, dim3(kThreads), 0, stream, true, args);
}

void block_conv(const ConvRows& args, Stream stream) {
  const dim3 grid(static_cast<unsigned>(ceil_div(args.width, kThreads)), static_cast<unsigned>(args.rows));
  launch(block_conv_kernel, grid, dim3(kThreads), 0, stream, true, args);
}

void follow(const FollowRows& args, Stream stream) {
  launch(candidates_kernel, dim3(static_cast<unsigned>(args.rows)), dim3(kRowThreads), 0, stream, true, args);
  launch(follow_kernel, dim3(static_cast<unsigned>(args.chain_count)), dim3(kThreads), 0, stream, true, args);
}

}  // namespace paceline::kernels::cuda
