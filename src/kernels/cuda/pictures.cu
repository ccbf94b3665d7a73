// What only pictures need: norms with a mean, averages of rows, and heads that are rotated in parts. Bound by bytes; a
// picture is looked at once.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/pictures.h"

namespace paceline::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kHeadThreads = 128;

// One warp per head of a row: queries, keys, values.
__global__ void __launch_bounds__(kHeadThreads) heads_in_parts_kernel(const HeadsArgs args, int32_t parts) {
  __shared__ float shared[kHeadThreads / 32][kMaxPictureHead];
  let_next_start();
  wait_for_previous();
  const int lane = threadIdx.x % 32;
  const int32_t per_row = args.heads + 2 * args.kv_heads, dim = args.head_dim;
  const int64_t job = static_cast<int64_t>(blockIdx.x) * (kHeadThreads / 32) + threadIdx.x / 32, row = job / per_row;
  if (row >= args.rows) return;
  int32_t head = static_cast<int32_t>(job % per_row);
  const int kind = head < args.heads ? 0 : head < args.heads + args.kv_heads ? 1 : 2;  // q, k, v
  head -= kind == 0 ? 0 : args.heads + (kind - 1) * args.kv_heads;
  const float* from = kind == 0   ? args.q + (row * args.heads + head) * dim
                      : kind == 1 ? args.k + (row * args.kv_heads + head) * dim
                                  : args.v + (row * args.kv_heads + head) * dim;
  const float* weight = kind == 0 ? args.q_weight : kind == 1 ? args.k_weight : nullptr;
  float* mine = shared[threadIdx.x / 32];
  float squares = 0;
  for (int32_t i = lane; i < dim; i += 32) {
    mine[i] = from[i];
    squares = fmaf(mine[i], mine[i], squares);
  }
  const float factor = rsqrtf(__fdiv_rn(warp_sum(squares), static_cast<float>(dim)) + args.eps);
  for (int32_t i = lane; i < dim; i += 32) mine[i] = mine[i] * factor * (weight != nullptr ? weight[i] : 1.0f);
  __syncwarp();
  void* page = nullptr;
  int32_t token = 0;
  if (kind != 0) {
    const DeviceSeq& seq = args.seqs[args.seq_of_row[row]];
    const int32_t pos = seq.first_pos + static_cast<int32_t>(row) - seq.first_row;
    const int32_t number = pos / kPageTokens;
    token = pos % kPageTokens;
    page = kind == 1 ? seq.keys_of(number) : seq.values_of(number);
  }
  const int32_t part = dim / parts, half = part / 2;
  for (int32_t i = lane; i < dim; i += 32) {
    float value = mine[i];
    if (kind != 2) {
      const int32_t in_part = i % part, pair = in_part % half;
      const int64_t angle = row * (dim / 2) + i / part * half + pair;
      const float other = mine[in_part < half ? i + half : i - half];
      const float turned = other * args.sin[angle];
      value = value * args.cos[angle] + (in_part < half ? -turned : turned);
    }
    if (kind == 0) {
      args.q[(row * args.heads + head) * dim + i] = value;
      continue;
    }
    const int64_t at = (static_cast<int64_t>(head) * kPageTokens + token) * dim + i;
    if (args.wide_kv)
      static_cast<float*>(page)[at] = value;
    else
      static_cast<__nv_bfloat16*>(page)[at] = __float2bfloat16_rn(value);
  }
}

__global__ void __launch_bounds__(kThreads) layer_norm_kernel(const LayerNormRows args) {
  __shared__ float scratch[2][kThreads / 32];
  let_next_start();
  wait_for_previous();
  const float* x = args.x + static_cast<int64_t>(blockIdx.x) * args.width;
  float* y = args.y + static_cast<int64_t>(blockIdx.x) * args.width;
  float sum = 0;
  for (int32_t i = threadIdx.x; i < args.width; i += kThreads) sum += x[i];
  const float mean = __fdiv_rn(block_sum<kThreads>(sum, scratch[0]), static_cast<float>(args.width));
  float squares = 0;
  for (int32_t i = threadIdx.x; i < args.width; i += kThreads) squares = fmaf(x[i] - mean, x[i] - mean, squares);
  const float factor =
      rsqrtf(__fdiv_rn(block_sum<kThreads>(squares, scratch[1]), static_cast<float>(args.width)) + args.eps);
  for (int32_t i = threadIdx.x; i < args.width; i += kThreads)
    y[i] = (x[i] - mean) * factor * args.weight[i] + args.bias[i];
}

__global__ void average_kernel(const AverageRows args) {
  let_next_start();
  wait_for_previous();
  const int32_t col = static_cast<int32_t>(blockIdx.x * kThreads + threadIdx.x);
  if (col >= args.width) return;
  const int32_t* members = args.members + static_cast<int64_t>(blockIdx.y) * args.per_group;
  float sum = 0;
  for (int32_t m = 0; m < args.per_group; ++m) sum += args.x[static_cast<int64_t>(members[m]) * args.width + col];
  args.y[static_cast<int64_t>(blockIdx.y) * args.width + col] = sum * args.factor;
}

__global__ void shift_scale_kernel(const ShiftScaleRows args) {
  let_next_start();
  wait_for_previous();
  const int32_t col = static_cast<int32_t>(blockIdx.x * kThreads + threadIdx.x);
  if (col >= args.width) return;
  float& y = args.y[static_cast<int64_t>(blockIdx.y) * args.width + col];
  y = (y + args.shift[col]) * (args.scale != nullptr ? args.scale[col] : 1.0f);
}

__global__ void clamp_kernel(const float* x, float* y, float low, float high, int64_t count) {
  let_next_start();
  wait_for_previous();
  const int64_t at = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at < count) y[at] = fminf(fmaxf(x[at], low), high);
}

dim3 columns_and_rows(int32_t width, int32_t rows) {
  return dim3(static_cast<unsigned>(ceil_div(width, kThreads)), static_cast<unsigned>(rows));
}

}  // namespace

void heads_in_parts(const HeadsArgs& args, int32_t parts, Stream stream) {
  const int64_t jobs = int64_t{args.rows} * (args.heads + 2 * args.kv_heads);
  const auto blocks = static_cast<unsigned>((jobs + kHeadThreads / 32 - 1) / (kHeadThreads / 32));
  launch(heads_in_parts_kernel, dim3(blocks), dim3(kHeadThreads), 0, stream, true, args, parts);
}

void layer_norm(const LayerNormRows& args, Stream stream) {
  launch(layer_norm_kernel, dim3(static_cast<unsigned>(args.rows)), dim3(kThreads), 0, stream, true, args);
}

void average(const AverageRows& args, Stream stream) {
  launch(average_kernel, columns_and_rows(args.width, args.groups), dim3(kThreads), 0, stream, true, args);
}

void shift_scale(const ShiftScaleRows& args, Stream stream) {
  launch(shift_scale_kernel, columns_and_rows(args.width, args.rows), dim3(kThreads), 0, stream, true, args);
}

void clamp(const float* x, float* y, float low, float high, int64_t count, Stream stream) {
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  launch(clamp_kernel, dim3(blocks), dim3(kThreads), 0, stream, true, x, y, low, high, count);
}

}  // namespace paceline::kernels::cuda
