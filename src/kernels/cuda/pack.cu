// Weights from the order of checkpoints into that of layout.h, and rows made ready for them. Packing runs once per
// matrix, on the device, behind its upload.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/row_bytes.cuh"
#include "kernels/cuda/rows.h"

namespace paceline::kernels::cuda {
namespace {

constexpr int kThreads = 256;

__device__ int64_t thread_number() { return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
unsigned blocks_for(int64_t threads) { return static_cast<unsigned>((threads + kThreads - 1) / kThreads); }

// One thread per lane of a fragment.
__global__ void pack_bf16_kernel(const uint16_t* from, uint4* to, int32_t rows, int32_t cols, int64_t lanes,
                                 int32_t steps) {
  const int64_t at = thread_number();
  if (at >= lanes) return;
  const int lane = static_cast<int>(at % 32), g = lane / 4, t = lane % 4;
  const int64_t step = at / 32 % steps, tile = at / 32 / steps;
  uint32_t words[4];
  for (int i = 0; i < 4; ++i) {
    const int64_t row = tile * 16 + g + i % 2 * 8;
    const int64_t col = step * 16 + t * 2 + i / 2 * 8;
    uint32_t word = 0;
    for (int e = 0; e < 2; ++e)
      if (row < rows && col + e < cols) word |= static_cast<uint32_t>(from[row * cols + col + e]) << (16 * e);
    words[i] = word;
  }
  to[at] = make_uint4(words[0], words[1], words[2], words[3]);
}

__device__ uint32_t quantised_at(const uint8_t* from, int32_t rows, int32_t cols, int64_t row, int64_t col, int bits) {
  if (row >= rows || col >= cols) return 0;
  if (bits == 8) return from[row * cols + col];
  const uint32_t byte = from[row * (cols / 2) + col / 2];
  return (col % 2 == 0 ? byte : byte >> 4) & 15u;
}

// Four bytes along K from (row, col).
__device__ uint32_t four_at(const uint8_t* from, int32_t rows, int32_t cols, int64_t row, int64_t col, int bits) {
  uint32_t word = 0;
  for (int e = 0; e < 4; ++e) word |= quantised_at(from, rows, cols, row, col + e, bits) << (8 * e);
  return word;
}

__global__ void pack_q8_kernel(const uint8_t* from, uint4* to, int32_t rows, int32_t cols, int64_t lanes,
                               int32_t steps) {
  const int64_t at = thread_number();
  if (at >= lanes) return;
  const int lane = static_cast<int>(at % 32), g = lane / 4, t = lane % 4;
  const int64_t col = at / 32 % steps * 32 + t * 8, row = at / 32 / steps * 16 + g;
  to[at] = make_uint4(four_at(from, rows, cols, row, col, 8), four_at(from, rows, cols, row + 8, col, 8),
                      four_at(from, rows, cols, row, col + 4, 8), four_at(from, rows, cols, row + 8, col + 4, 8));
}

// A byte holds column c in the low half and column c + 4 in the high half.
__global__ void pack_q4_kernel(const uint8_t* from, uint4* to, int32_t rows, int32_t cols, int64_t lanes,
                               int32_t steps) {
  const int64_t at = thread_number();
  if (at >= lanes) return;
  const int lane = static_cast<int>(at % 32), g = lane / 4, t = lane % 4;
  const int64_t col = at / 32 % steps * 64 + t * 8, row = at / 32 / steps * 16 + g;
  uint32_t words[4];
  for (int i = 0; i < 4; ++i) {
    const int64_t c = col + i / 2 * 32, r = row + i % 2 * 8;
    words[i] = four_at(from, rows, cols, r, c, 4) | four_at(from, rows, cols, r, c + 4, 4) << 4;
  }
  to[at] = make_uint4(words[0], words[1], words[2], words[3]);
}

// One thread per pair, in scale_place's order.
__global__ void pack_scales_kernel(const void* scales, const void* biases, void* to, int32_t rows, int32_t groups,
                                   int32_t padded_groups, int64_t count, int32_t in_step, bool wide) {
  const int64_t at = thread_number();
  if (at >= count) return;
  const int64_t in_tile = at % (16 * padded_groups), in_step_at = in_tile % (16 * in_step);
  const int64_t row = at / (16 * padded_groups) * 16 + in_step_at / (2 * in_step) + at % 2 * 8;
  const int64_t group = in_tile / (16 * in_step) * in_step + in_step_at / 2 % in_step;
  const bool has = row < rows && group < groups;
  const int64_t i = row * groups + group;
  if (wide) {
    static_cast<float2*>(to)[at] =
        has ? make_float2(static_cast<const float*>(scales)[i], static_cast<const float*>(biases)[i])
            : make_float2(0, 0);
  } else {
    const uint32_t pair = has ? static_cast<uint32_t>(static_cast<const uint16_t*>(scales)[i]) |
                                    static_cast<uint32_t>(static_cast<const uint16_t*>(biases)[i]) << 16
                              : 0u;
    static_cast<uint32_t*>(to)[at] = pair;
  }
}

__global__ void rows_to_bf16_kernel(const float* x, uint16_t* y, int32_t cols, int32_t stride, int64_t pairs) {
  let_next_start();
  wait_for_previous();
  const int64_t at = thread_number();
  if (at >= pairs) return;
  const int64_t row = at / (stride / 2), col = at % (stride / 2) * 2;
  const float low = col < cols ? x[row * cols + col] : 0.0f, high = col + 1 < cols ? x[row * cols + col + 1] : 0.0f;
  reinterpret_cast<uint32_t*>(y)[at] = pack_bf16(low, high);
}

// A warp per row and group.
__global__ void rows_to_bytes_kernel(const float* x, const ByteRows to, int32_t cols, int64_t groups_in_all) {
  let_next_start();
  wait_for_previous();
  const int64_t at = thread_number() / 32;
  const int lane = threadIdx.x % 32;
  if (at >= groups_in_all) return;
  const int32_t groups = to.stride / to.group, first = static_cast<int32_t>(at % groups) * to.group;
  const int64_t row = at / groups;
  float values[4];
  uint32_t top = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int32_t col = first + i * 32 + lane;
    values[i] = i * 32 < to.group && col < cols ? x[row * cols + col] : 0.0f;
    top = max(top, magnitude(values[i]));
  }
  const ByteScale scale(warp_top(top));
  int32_t sums[2] = {0, 0};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (i * 32 >= to.group) break;
    const int32_t byte = scale.byte(values[i]);
    put_byte(to, row, first + i * 32 + lane, byte);
    sums[i / 2] += byte;
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int32_t sum = __reduce_add_sync(~0u, sums[i]);
    if (lane == 0 && i * 64 < to.group) put_pair(to, row, first + i * 64, scale.pair(sum));
  }
}

}  // namespace

void pack_values(const void* from, void* to, Format format, int32_t rows, int32_t cols, Stream stream) {
  const int32_t depth = padded_cols(format, cols);
  const int32_t steps = format == Format::bf16 ? depth / 16 : format == Format::q8 ? depth / 32 : depth / 64;
  const int64_t lanes = int64_t{ceil_div(rows, kTileOutputs)} * steps * 32;
  auto* out = static_cast<uint4*>(to);
  if (format == Format::bf16)
    launch(pack_bf16_kernel, dim3(blocks_for(lanes)), dim3(kThreads), 0, stream, false,
           static_cast<const uint16_t*>(from), out, rows, cols, lanes, steps);
  else if (format == Format::q8)
    launch(pack_q8_kernel, dim3(blocks_for(lanes)), dim3(kThreads), 0, stream, false, static_cast<const uint8_t*>(from),
           out, rows, cols, lanes, steps);
  else
    launch(pack_q4_kernel, dim3(blocks_for(lanes)), dim3(kThreads), 0, stream, false, static_cast<const uint8_t*>(from),
           out, rows, cols, lanes, steps);
}

void pack_scales(const void* scales, const void* biases, void* to, const Weight& w, Stream stream) {
  const int32_t padded = w.depth() / w.group;
  const int64_t count = int64_t{w.tiles()} * 16 * padded;
  launch(pack_scales_kernel, dim3(blocks_for(count)), dim3(kThreads), 0, stream, false, scales, biases, to, w.rows,
         w.cols / w.group, padded, count, kStepK / w.group, w.wide_scales != 0);
}

void rows_to_bf16(const float* x, uint16_t* y, int32_t rows, int32_t cols, int32_t stride, Stream stream) {
  const int64_t pairs = int64_t{rows} * stride / 2;
  launch(rows_to_bf16_kernel, dim3(blocks_for(pairs)), dim3(kThreads), 0, stream, true, x, y, cols, stride, pairs);
}

void rows_to_bytes(const float* x, const ByteRows& to, int32_t rows, int32_t cols, Stream stream) {
  const int64_t groups = int64_t{rows} * (to.stride / to.group);
  launch(rows_to_bytes_kernel, dim3(blocks_for(groups * 32)), dim3(kThreads), 0, stream, true, x, to, cols, groups);
}

}  // namespace paceline::kernels::cuda
