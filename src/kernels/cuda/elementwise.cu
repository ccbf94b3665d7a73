// Element by element: gates, sums, softcap, gathers, the largest of a row. Bound by bytes.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/order.cuh"
#include "kernels/cuda/recurrent.h"
#include "kernels/cuda/rows.h"

namespace paceline::kernels::cuda {
namespace {

constexpr int kThreads = 256;

__device__ int64_t thread_number() { return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
dim3 blocks_for(int64_t threads) { return dim3(static_cast<unsigned>((threads + kThreads - 1) / kThreads)); }

__global__ void gate_mul_kernel(const GateMulArgs args, int64_t count) {
  let_next_start();
  wait_for_previous();
  const int64_t at = thread_number();
  if (at >= count) return;
  const int64_t row = at / args.width, col = at % args.width;
  const float value = gate(args.silu, args.y[at]) * args.x[row * args.x_stride + col];
  args.y[at] = value;
  reinterpret_cast<__nv_bfloat16*>(args.y_bf16)[row * args.y_stride + col] = __float2bfloat16_rn(value);
}

__global__ void times_factors_kernel(float* y, const double* factors, int32_t width, int64_t count) {
  let_next_start();
  wait_for_previous();
  const int64_t at = thread_number();
  if (at < count) y[at] = static_cast<float>(static_cast<double>(y[at]) * factors[at % width]);
}

__global__ void sigmoid_mul_kernel(const SigmoidRows args, int64_t count) {
  let_next_start();
  wait_for_previous();
  const int64_t at = thread_number();
  if (at >= count) return;
  const int64_t row = at / args.width, col = at % args.width;
  const float share = __fdiv_rn(1.0f, 1.0f + expf(-args.gate[args.one_per_row ? row : at]));
  const float value = args.y[at] * share;
  args.y[at] = value;
  if (args.y_bf16 != nullptr)
    reinterpret_cast<__nv_bfloat16*>(args.y_bf16)[row * args.y_stride + col] = __float2bfloat16_rn(value);
}

__global__ void part_pairs_kernel(const PartRows args) {
  let_next_start();
  wait_for_previous();
  const int32_t col = static_cast<int32_t>(blockIdx.x * kThreads + threadIdx.x);
  const int64_t row = blockIdx.y;
  if (col >= args.width) return;
  args.first[row * args.width + col] = args.x[2 * row * args.width + col];
  args.second[row * args.width + col] = args.x[(2 * row + 1) * args.width + col];
}

// Sixteen bytes at a time, or four.
template <class Piece>
__global__ void copy_kernel(const Piece* from, Piece* to, int64_t count) {
  let_next_start();
  wait_for_previous();
  const int64_t at = thread_number();
  if (at < count) to[at] = from[at];
}

__global__ void add_scaled_kernel(float* y, const float* x, float scale, int64_t count) {
  let_next_start();
  wait_for_previous();
  const int64_t at = thread_number();
  if (at < count) y[at] = (y[at] + x[at]) * scale;
}

__global__ void softcap_kernel(float* y, float cap, int64_t count) {
  let_next_start();
  wait_for_previous();
  const int64_t at = thread_number();
  if (at < count) y[at] = cap * tanhf(__fdiv_rn(y[at], cap));
}

__global__ void gather_kernel(const float* from, const int32_t* rows, float* to, int32_t width) {
  let_next_start();
  wait_for_previous();
  const int32_t col = static_cast<int32_t>(blockIdx.x * kThreads + threadIdx.x);
  const int64_t row = blockIdx.y;
  if (col < width) to[row * width + col] = from[static_cast<int64_t>(rows[row]) * width + col];
}

__global__ void rope_rows_kernel(const RopeRowsArgs args) {
  let_next_start();
  wait_for_previous();
  const int64_t at = thread_number();
  if (at >= int64_t{args.rows} * args.pairs) return;
  const float angle = static_cast<float>(args.positions[at / args.pairs]) * args.frequencies[at % args.pairs];
  args.cos[at] = cosf(angle);
  args.sin[at] = sinf(angle);
}

__global__ void argmax_pieces_kernel(const ArgmaxArgs args) {
  __shared__ uint64_t scratch[kThreads / 32];
  let_next_start();
  wait_for_previous();
  const float* x = args.x + static_cast<int64_t>(blockIdx.y) * args.width;
  uint64_t key = 0;
  for (int32_t i = static_cast<int32_t>(blockIdx.x * kThreads + threadIdx.x); i < args.width;
       i += kArgmaxPieces * kThreads)
    key = max(key, key_of(x[i], i));
  key = block_max(key, scratch);
  if (threadIdx.x == 0) args.partial[blockIdx.y * kArgmaxPieces + blockIdx.x] = key;
}

__global__ void argmax_rows_kernel(const ArgmaxArgs args) {
  let_next_start();
  wait_for_previous();
  const uint64_t* keys = args.partial + blockIdx.x * kArgmaxPieces;
  uint64_t key = max(keys[threadIdx.x], keys[threadIdx.x + 32]);
  for (int offset = 16; offset > 0; offset /= 2) key = max(key, __shfl_xor_sync(~0u, key, offset));
  if (threadIdx.x == 0) args.best[blockIdx.x] = key == 0 ? 0 : place_of(key);
}

constexpr int kReadBlocks = 2048;

__global__ void read_kernel(const uint4* from, int64_t count, uint32_t* out) {
  uint32_t sum = 0;
  const int64_t stride = int64_t{kReadBlocks} * kThreads;
  for (int64_t i = thread_number(); i + 3 * stride < count; i += 4 * stride) {
    uint4 v[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) v[k] = load_once(from + i + k * stride);
#pragma unroll
    for (int k = 0; k < 4; ++k) sum ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
  }
  // Never so; but the loads must not be for nothing.
  if (sum == 0x12345678u) *out = sum;
}

}  // namespace

void read_all(void* block, size_t bytes, Stream stream) {
  launch(read_kernel, dim3(kReadBlocks), dim3(kThreads), 0, stream, false, static_cast<const uint4*>(block),
         static_cast<int64_t>(bytes / 16), static_cast<uint32_t*>(block));
}

void gate_mul(const GateMulArgs& args, Stream stream) {
  const int64_t count = int64_t{args.rows} * args.width;
  launch(gate_mul_kernel, blocks_for(count), dim3(kThreads), 0, stream, true, args, count);
}

void times_factors(float* y, const double* factors, int32_t rows, int32_t width, Stream stream) {
  const int64_t count = int64_t{rows} * width;
  launch(times_factors_kernel, blocks_for(count), dim3(kThreads), 0, stream, true, y, factors, width, count);
}

void sigmoid_mul(const SigmoidRows& args, Stream stream) {
  const int64_t count = int64_t{args.rows} * args.width;
  launch(sigmoid_mul_kernel, blocks_for(count), dim3(kThreads), 0, stream, true, args, count);
}

void part_pairs(const PartRows& args, Stream stream) {
  const dim3 grid(static_cast<unsigned>(ceil_div(args.width, kThreads)), static_cast<unsigned>(args.rows));
  launch(part_pairs_kernel, grid, dim3(kThreads), 0, stream, true, args);
}

void copy_bytes(const void* from, void* to, int64_t bytes, Stream stream) {
  const auto fits = [&](int64_t step) {
    return bytes % step == 0 && reinterpret_cast<uintptr_t>(from) % static_cast<uintptr_t>(step) == 0 &&
           reinterpret_cast<uintptr_t>(to) % static_cast<uintptr_t>(step) == 0;
  };
  const auto start = [&]<class Piece>(const Piece* first) {
    const int64_t count = bytes / static_cast<int64_t>(sizeof(Piece));
    launch(copy_kernel<Piece>, blocks_for(count), dim3(kThreads), 0, stream, true, first, static_cast<Piece*>(to),
           count);
  };
  if (fits(sizeof(uint4)))
    start(static_cast<const uint4*>(from));
  else if (fits(sizeof(uint32_t)))
    start(static_cast<const uint32_t*>(from));
  else
    start(static_cast<const uint8_t*>(from));
}

void add_scaled(float* y, const float* x, float scale, int64_t count, Stream stream) {
  launch(add_scaled_kernel, blocks_for(count), dim3(kThreads), 0, stream, true, y, x, scale, count);
}

void softcap(float* y, float cap, int64_t count, Stream stream) {
  launch(softcap_kernel, blocks_for(count), dim3(kThreads), 0, stream, true, y, cap, count);
}

void gather_rows(const float* from, const int32_t* rows, float* to, int32_t count, int32_t width, Stream stream) {
  const dim3 grid(static_cast<unsigned>(ceil_div(width, kThreads)), static_cast<unsigned>(count));
  launch(gather_kernel, grid, dim3(kThreads), 0, stream, true, from, rows, to, width);
}

void rope_rows(const RopeRowsArgs& args, Stream stream) {
  launch(rope_rows_kernel, blocks_for(int64_t{args.rows} * args.pairs), dim3(kThreads), 0, stream, true, args);
}

void argmax(const ArgmaxArgs& args, Stream stream) {
  static_assert(kArgmaxPieces == 64, "one warp reads them, two each");
  launch(argmax_pieces_kernel, dim3(kArgmaxPieces, static_cast<unsigned>(args.rows)), dim3(kThreads), 0, stream, true,
         args);
  launch(argmax_rows_kernel, dim3(static_cast<unsigned>(args.rows)), dim3(32), 0, stream, true, args);
}

}  // namespace paceline::kernels::cuda
