// RMS norms. One block per row; the row stays in registers from one norm to the next.
//   x, branch, y: [rows, width]
// Bound by launches at few rows, by bytes (width * 4 * 2 to 4 per row; with experts the slots of a row as well) at
// many.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/handover.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/row_bytes.cuh"
#include "kernels/cuda/rows.h"

namespace paceline::kernels::cuda {
namespace {

// The order of a row's sum follows from its width alone: threads is a function of it.
template <int kThreads>
__device__ __forceinline__ float factor_of(float squares, const NormsArgs& args, float* scratch) {
  return rsqrtf(__fdiv_rn(block_sum<kThreads>(squares, scratch), static_cast<float>(args.width)) + args.eps);
}

// A row of the branch of a layer with experts, from both of its halves.
template <int kThreads, int kEach>
__device__ __forceinline__ void mix_row(const NormsArgs& args, int64_t row, const float (&dense_weights)[kEach],
                                        const float (&expert_weights)[kEach], float (&branch)[kEach], float* scratch) {
  constexpr int kAtOnce = kEach <= 6 ? 8 : 4;  // ranks that are read before the first is waited for
  float mixed[kEach] = {};
  float squares = 0, mixed_squares = 0;
  for (int32_t base = 0; base < args.mixed.top; base += kAtOnce) {
    const float* slot[kAtOnce];
    float share[kAtOnce], from[kAtOnce][kEach];
#pragma unroll
    for (int r = 0; r < kAtOnce; ++r) {
      const int64_t at = row * args.mixed.top + min(base + r, args.mixed.top - 1);
      slot[r] = args.mixed.slots + static_cast<int64_t>(args.mixed.slot_of[at]) * args.width;
      share[r] = args.mixed.share[at];
    }
#pragma unroll
    for (int r = 0; r < kAtOnce; ++r)
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        const int32_t col = i * kThreads + static_cast<int32_t>(threadIdx.x);
        from[r][i] = col < args.width ? slot[r][col] : 0.0f;
      }
#pragma unroll
    for (int r = 0; r < kAtOnce; ++r)
      if (base + r < args.mixed.top)
#pragma unroll
        for (int i = 0; i < kEach; ++i) mixed[i] = fmaf(from[r][i], share[r], mixed[i]);
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    squares = fmaf(branch[i], branch[i], squares);
    mixed_squares = fmaf(mixed[i], mixed[i], mixed_squares);
  }
  const float factor = factor_of<kThreads>(squares, args, scratch);
  const float mixed_factor = factor_of<kThreads>(mixed_squares, args, scratch);
#pragma unroll
  for (int i = 0; i < kEach; ++i)
    branch[i] = branch[i] * factor * dense_weights[i] + mixed[i] * mixed_factor * expert_weights[i];
}

// x's row, and the row of the branch from where the product in front leaves it, without waiting for that kernel's end.
// Such a product lets this kernel start when whatever was in front of it has ended: so nothing older lies there, and x
// is what it has to be, though only past the first-level cache. The product's blocks have read all of their rows before
// they leave anything: once a row is complete, whatever the product reads may be overwritten.
template <int kThreads, int kEach>
__device__ __forceinline__ void take_rows(const NormsArgs& args, int64_t row, float (&branch)[kEach],
                                          float (&values)[kEach]) {
  const float* left = args.left + row * args.width + threadIdx.x;
  const float* x = args.x + row * args.width + threadIdx.x;
  const auto present = [&](int i) { return i * kThreads + static_cast<int32_t>(threadIdx.x) < args.width; };
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    values[i] = present(i) ? look_one(x + i * kThreads) : 0.0f;
    branch[i] = present(i) ? __uint_as_float(kNothing) : 0.0f;
  }
  // One column while the product reads its weights; all of them once outputs come.
  while (!is_there(branch[0])) {
    branch[0] = look_one(left);
    if (!is_there(branch[0])) rest();
  }
  for (bool there = false; !there;) {
    there = true;
#pragma unroll
    for (int i = 1; i < kEach; ++i)
      if (!is_there(branch[i])) branch[i] = look_one(left + i * kThreads);
#pragma unroll
    for (int i = 1; i < kEach; ++i) there = there && is_there(branch[i]);
    if (!there) rest();
  }
}

// What was taken is taken away. The end of this kernel is that of the product, too, for whoever comes behind.
template <int kThreads, int kEach>
__device__ __forceinline__ void finish_taking(const NormsArgs& args, int64_t row) {
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int32_t col = i * kThreads + static_cast<int32_t>(threadIdx.x);
    if (col < args.width) take_away_one(args.left + row * args.width + col);
  }
  wait_for_previous();
}

// The row as bytes. A warp has 32 columns in a row of each of its threads' values; groups of more go through shared
// memory.
template <int kThreads, int kEach>
__device__ __forceinline__ void write_bytes(const ByteRows& to, int64_t row, const float (&values)[kEach]) {
  constexpr int kWarps = kThreads / 32;
  static_assert(kEach <= 32);
  __shared__ uint32_t tops[kEach * kWarps];
  __shared__ int32_t sums[kEach * kWarps];
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const int group_warps = to.group / 32;  // a power of two
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const uint32_t top = warp_top(magnitude(values[i]));
    if (lane == 0) tops[i * kWarps + warp] = top;
  }
  __syncthreads();
  const auto scale_of = [&](int at) {
    const int first = at & ~(group_warps - 1);
    uint32_t top = tops[first];
    for (int k = 1; k < group_warps; ++k) top = max(top, tops[first + k]);
    return ByteScale(top);
  };
  // A lane per value: divisions are dear.
  const ByteScale mine = scale_of(min(lane, kEach - 1) * kWarps + warp);
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int32_t col = i * kThreads + static_cast<int32_t>(threadIdx.x);
    if (col >= to.stride) break;
    const int32_t byte = __float2int_rn(values[i] * __shfl_sync(~0u, mine.inverse, i));
    put_byte(to, row, col, byte);
    const int32_t sum = __reduce_add_sync(~0u, byte);
    if (lane == 0) sums[i * kWarps + warp] = sum;
  }
  __syncthreads();
  // A thread per run.
  const int run_warps = 1 << (to.run_bits() - 5);
  for (int32_t at = static_cast<int32_t>(threadIdx.x); at < to.stride >> to.run_bits(); at += kThreads) {
    const int first = at * run_warps;
    int32_t sum = sums[first];
    if (run_warps == 2) sum += sums[first + 1];
    put_pair(to, row, at << to.run_bits(), scale_of(first).pair(sum));
  }
}

// kMixture: what only layers with experts need.
template <int kThreads, int kEach, bool kMixture>
__global__ void __launch_bounds__(kThreads) norms_kernel(const __grid_constant__ NormsArgs args) {
  constexpr int kTo = kMixture ? kMaxNormsTo : 1;
  __shared__ float scratch[kThreads / 32];
  let_next_start();
  const int64_t row = blockIdx.x;
  float* x_row = args.x + row * args.width;
  const auto load = [&](const float* from, float otherwise, float(&to)[kEach]) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int32_t col = i * kThreads + static_cast<int32_t>(threadIdx.x);
      to[i] = from != nullptr && col < args.width ? from[col] : otherwise;
    }
  };
  float values[kEach], weights[kTo][kEach], branch_weights[kEach];
  float dense_weights[kEach], expert_weights[kEach];
  // Weights do not depend on the kernel in front.
#pragma unroll
  for (int k = 0; k < kTo; ++k) load(k < args.count ? args.to[k].weight : nullptr, 1.0f, weights[k]);
  load(args.branch_weight, 1.0f, branch_weights);
  if (kMixture) {
    load(args.mixed.dense_weight, 1.0f, dense_weights);
    load(args.mixed.expert_weight, 1.0f, expert_weights);
  }
  float branch[kEach];
  if (args.left != nullptr) {
    take_rows<kThreads, kEach>(args, row, branch, values);
  } else {
    wait_for_previous();
    load(x_row, 0.0f, values);
    load(args.branch != nullptr ? args.branch + row * args.width : nullptr, 0.0f, branch);
  }
  if (args.branch != nullptr) {
    if (kMixture && args.mixed.slots != nullptr)
      mix_row<kThreads, kEach>(args, row, dense_weights, expert_weights, branch, scratch);
    float squares = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) squares = fmaf(branch[i], branch[i], squares);
    const float factor = factor_of<kThreads>(squares, args, scratch);
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int32_t col = i * kThreads + static_cast<int32_t>(threadIdx.x);
      values[i] = (values[i] + branch[i] * factor * branch_weights[i]) * args.branch_scale;
      if (col < args.width) x_row[col] = values[i];
      if (args.x_bf16 != nullptr && col < args.y_stride)
        reinterpret_cast<__nv_bfloat16*>(args.x_bf16)[row * args.y_stride + col] =
            __float2bfloat16_rn(col < args.width ? values[i] : 0.0f);
    }
  }
  if (args.count == 0) {
    if (args.left != nullptr) finish_taking<kThreads, kEach>(args, row);
    return;
  }
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) squares = fmaf(values[i], values[i], squares);
  const float base = factor_of<kThreads>(squares, args, scratch);
#pragma unroll
  for (int k = 0; k < kTo; ++k) {
    if (k >= args.count) break;
    const NormTo& to = args.to[k];
    const float factor = base * to.scale;
    float y[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int32_t col = i * kThreads + static_cast<int32_t>(threadIdx.x);
      y[i] = col < args.width ? values[i] * factor * weights[k][i] : 0.0f;
      if (col < args.width) to.y[row * args.width + col] = y[i];
      if (to.y_bf16 != nullptr && col < args.y_stride)
        reinterpret_cast<__nv_bfloat16*>(to.y_bf16)[row * args.y_stride + col] = __float2bfloat16_rn(y[i]);
    }
    if (to.y_bytes.values == nullptr) continue;
    if (k > 0) __syncthreads();
    write_bytes<kThreads, kEach>(to.y_bytes, row, y);
  }
  if (args.left != nullptr) finish_taking<kThreads, kEach>(args, row);
}

template <int kThreads, int kEach>
void start(const NormsArgs& args, Stream stream) {
  const bool mixture = args.mixed.slots != nullptr || args.count > 1;
  launch(mixture ? norms_kernel<kThreads, kEach, true> : norms_kernel<kThreads, kEach, false>,
         dim3(static_cast<unsigned>(args.rows)), dim3(kThreads), 0, stream, true, args);
}

}  // namespace

void norms(const NormsArgs& args, Stream stream) {
  // With what rows are padded to.
  const int32_t width = round_up(args.width, kStepK);
  if (width <= 256)
    start<64, 4>(args, stream);
  else if (width <= 1024)
    start<256, 4>(args, stream);
  else if (width <= 3072)
    start<512, 6>(args, stream);
  else if (width <= 4096)
    start<512, 8>(args, stream);
  else if (width <= 5632)
    start<512, 11>(args, stream);
  else
    start<1024, 8>(args, stream);
}

}  // namespace paceline::kernels::cuda
