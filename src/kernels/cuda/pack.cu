// Weights from the order of checkpoints into that of layout.h, and rows made ready for them. Packing runs once per
// matrix, on the device, behind its upload.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/narrow_chunks.cuh"
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

// One thread per lane and two steps of 16 columns.
__global__ void pack_f8_kernel(const uint8_t* from, uint4* to, int32_t rows, int32_t cols, int64_t lanes,
                               int32_t pairs) {
  const int64_t at = thread_number();
  if (at >= lanes) return;
  const int lane = static_cast<int>(at % 32), g = lane / 4, t = lane % 4;
  const int64_t pair = at / 32 % pairs, tile = at / 32 / pairs;
  uint32_t words[4];
  for (int i = 0; i < 4; ++i) {
    uint32_t word = 0;
    for (int byte = 0; byte < 4; ++byte) {
      const int64_t row = tile * 16 + g + (byte % 2 == 0 ? 8 : 0);
      const int64_t col = pair * 32 + i / 2 * 16 + i % 2 * 8 + t * 2 + byte / 2;
      if (row < rows && col < cols) word |= static_cast<uint32_t>(from[row * cols + col]) << (8 * byte);
    }
    words[i] = word;
  }
  to[at] = make_uint4(words[0], words[1], words[2], words[3]);
}

// One thread per lane and block of K; scales by the first lane of four.
__global__ void pack_f4_kernel(const uint8_t* from, const uint8_t* scales, char* to, const Weight w, int64_t lanes) {
  const int64_t at = thread_number();
  if (at >= lanes) return;
  const int lane = static_cast<int>(at % 32), g = lane / 4, t = lane % 4;
  const int64_t blocks = w.depth() / kBlockK, block = at / 32 % blocks, tile = at / 32 / blocks;
  char* chunk = to + at / 32 * chunk_bytes(Format::f4);
  uint32_t words[4] = {};
  for (int step = 0; step < 4; ++step)
    for (int half = 0; half < 2; ++half)
      for (int i = 0; i < 4; ++i) {
        const int64_t row = tile * 16 + g + i % 2 * 8, col = block * 64 + step * 16 + t * 2 + half + i / 2 * 8;
        if (row >= w.rows || col >= w.cols) continue;
        const uint32_t code = from[row * (w.cols / 2) + col / 2] >> (col % 2 * 4) & 15u;
        for (int b = 0; b < 4; ++b) words[step] |= (code >> (3 - b) & 1u) << (half * 16 + f4_bit(i, b));
      }
  *reinterpret_cast<uint4*>(chunk + lane * 16) = make_uint4(words[0], words[1], words[2], words[3]);
  if (t != 0) return;
  auto* scales_to = reinterpret_cast<uint16_t*>(chunk + 512 + g * 16);
  for (int step = 0; step < 4; ++step)
    for (int high = 0; high < 2; ++high) {
      const int64_t row = tile * 16 + g + high * 8, group = block * 4 + step;
      uint32_t bits = 0;
      if (row < w.rows && group < w.cols / 16) {
        // E4M3 to bf16, and 2^(126 - kF4Smaller) times larger; what is not a number stays so.
        const uint32_t e4m3 = scales[row * (w.cols / 16) + group];
        const uint32_t value = bf16_of_f8(e4m3 << 8) & 0xffffu;
        bits = (e4m3 & 0x7fu) == 0x7fu ? 0x7fffu
               : (value & 0x7fffu) == 0 ? 0u
                                        : value + (static_cast<uint32_t>(126 - kF4Smaller) << 7);
      }
      scales_to[step * 2 + high] = static_cast<uint16_t>(bits);
    }
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

// One thread per lane of a fragment. Of q4 a byte holds the lane's first four columns in the low halves and its second
// four in the high ones.
__global__ void pack_quantised_kernel(const uint8_t* from, char* to, const Weight w, int64_t lanes) {
  const int64_t at = thread_number();
  if (at >= lanes) return;
  const int lane = static_cast<int>(at % 32), g = lane / 4, t = lane % 4;
  const int32_t columns = w.format == Format::q8 ? 32 : 64, loads = w.depth() / columns;
  const int32_t second = w.group == 16 ? 16 : 4;
  const int64_t load = at / 32 % loads, tile = at / 32 / loads, col = load * columns + t * (w.group == 16 ? 4 : 8),
                row = tile * 16 + g;
  uint32_t words[4];
  for (int i = 0; i < 4; ++i) {
    const int64_t r = row + i % 2 * 8;
    if (w.format == Format::q8) {
      words[i] = four_at(from, w.rows, w.cols, r, col + i / 2 * second, 8);
    } else {
      const int64_t c = col + i / 2 * 32;
      words[i] = four_at(from, w.rows, w.cols, r, c, 4) | four_at(from, w.rows, w.cols, r, c + second, 4) << 4;
    }
  }
  const int32_t in_step = kStepK / columns, step = static_cast<int32_t>(load) / in_step;
  *reinterpret_cast<uint4*>(to + step_place(w, tile, step).values + (load % in_step * 32 + lane) * 16) =
      make_uint4(words[0], words[1], words[2], words[3]);
}

// A warp per block of K of a tile.
template <class Chunk>
__global__ void unpack_kernel(const char* from, uint4* to, int64_t chunks) {
  let_next_start();
  wait_for_previous();
  const int64_t at = thread_number() / 32;
  const int lane = threadIdx.x % 32;
  if (at >= chunks) return;
  uint4 a[4];
  Chunk::read(lane, a, [&](int offset) { return load_once(from + at * chunk_bytes(Chunk::kFormat) + offset); });
#pragma unroll
  for (int i = 0; i < 4; ++i) to[(at * 4 + i) * 32 + lane] = a[i];
}

// One thread per pair.
__global__ void pack_scales_kernel(const void* scales, const void* biases, char* to, const Weight w, int64_t count) {
  const int64_t at = thread_number();
  if (at >= count) return;
  const int32_t in_step = kStepK / w.group, steps = w.depth() / kStepK,
                in_tile = static_cast<int32_t>(at % (16 * in_step));
  const int64_t step = at / (16 * in_step) % steps, tile = at / (16 * in_step) / steps;
  const int64_t row = tile * 16 + in_tile / (2 * in_step) + in_tile % 2 * 8,
                group = step * in_step + in_tile / 2 % in_step;
  const int32_t groups = w.cols / w.group;
  const bool has = row < w.rows && group < groups;
  const int64_t i = row * groups + group;
  to += step_place(w, tile, static_cast<int32_t>(step)).scales;
  if (w.scales == Scales::f32) {
    reinterpret_cast<float2*>(to)[in_tile] =
        has ? make_float2(static_cast<const float*>(scales)[i], static_cast<const float*>(biases)[i])
            : make_float2(0, 0);
  } else {
    reinterpret_cast<uint32_t*>(to)[in_tile] = has ? static_cast<uint32_t>(static_cast<const uint16_t*>(scales)[i]) |
                                                         static_cast<uint32_t>(static_cast<const uint16_t*>(biases)[i])
                                                             << 16
                                                   : 0u;
  }
}

// One thread per output and step: what record_bytes() says, as it is.
__global__ void pack_records_kernel(const uint32_t* from, char* to, const Weight w, int64_t count) {
  const int64_t at = thread_number();
  if (at >= count) return;
  const int32_t steps = w.depth() / kStepK, words = record_bytes(w.scales) / 4;
  const int64_t row = at / steps;
  auto* place =
      reinterpret_cast<uint32_t*>(to + quantised_place(w, row, static_cast<int32_t>(at % steps) * kStepK).scales);
  for (int32_t i = 0; i < words; ++i) place[i] = row < w.rows ? from[at * words + i] : 0u;
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

// A warp per row and 128 columns, four of them a lane.
__global__ void rows_to_bytes_kernel(const float* x, const ByteRows to, int32_t cols, int64_t steps_in_all) {
  let_next_start();
  wait_for_previous();
  const int64_t at = thread_number() / 32;
  if (at >= steps_in_all) return;
  const int32_t steps = to.stride / kStepK,
                col = static_cast<int32_t>(at % steps) * kStepK + static_cast<int32_t>(threadIdx.x % 32) * 4;
  const int64_t row = at / steps;
  const auto value = [&](int32_t i) { return col + i < cols ? x[row * cols + col + i] : 0.0f; };
  put_four(to, row, col, FourBytes(make_float4(value(0), value(1), value(2), value(3)), to.group));
}

}  // namespace

void pack_values(const void* from, void* to, const Weight& w, Stream stream) {
  if (w.format == Format::bf16) {
    const int32_t steps = w.depth() / 16;
    const int64_t lanes = int64_t{w.tiles()} * steps * 32;
    launch(pack_bf16_kernel, dim3(blocks_for(lanes)), dim3(kThreads), 0, stream, false,
           static_cast<const uint16_t*>(from), static_cast<uint4*>(to), w.rows, w.cols, lanes, steps);
    return;
  }
  const int64_t lanes =
      int64_t{ceil_div(w.rows, kPairOutputs)} * 2 * (w.depth() / (w.format == Format::q8 ? 32 : 64)) * 32;
  launch(pack_quantised_kernel, dim3(blocks_for(lanes)), dim3(kThreads), 0, stream, false,
         static_cast<const uint8_t*>(from), static_cast<char*>(to), w, lanes);
}

void pack_f8(const void* from, void* to, const Weight& w, Stream stream) {
  const int32_t pairs = w.depth() / 32;
  const int64_t lanes = int64_t{w.tiles()} * pairs * 32;
  launch(pack_f8_kernel, dim3(blocks_for(lanes)), dim3(kThreads), 0, stream, false, static_cast<const uint8_t*>(from),
         static_cast<uint4*>(to), w.rows, w.cols, lanes, pairs);
}

void pack_f4(const void* from, const void* scales, void* to, const Weight& w, Stream stream) {
  const int64_t lanes = int64_t{w.tiles()} * (w.depth() / kBlockK) * 32;
  launch(pack_f4_kernel, dim3(blocks_for(lanes)), dim3(kThreads), 0, stream, false, static_cast<const uint8_t*>(from),
         static_cast<const uint8_t*>(scales), static_cast<char*>(to), w, lanes);
}

void unpack_chunks(const Weight& w, void* to, Stream stream) {
  const int64_t chunks = int64_t{w.tiles()} * (w.depth() / kBlockK);
  launch(w.format == Format::f8 ? unpack_kernel<F8Chunk> : unpack_kernel<F4Chunk>, dim3(blocks_for(chunks * 32)),
         dim3(kThreads), 0, stream, true, static_cast<const char*>(w.values), static_cast<uint4*>(to), chunks);
}

void pack_scales(const void* scales, const void* biases, void* to, const Weight& w, Stream stream) {
  const int64_t count = int64_t{ceil_div(w.rows, kPairOutputs)} * kPairOutputs * (w.depth() / w.group);
  launch(pack_scales_kernel, dim3(blocks_for(count)), dim3(kThreads), 0, stream, false, scales, biases,
         static_cast<char*>(to), w, count);
}

void pack_records(const void* records, void* to, const Weight& w, Stream stream) {
  const int64_t count = int64_t{ceil_div(w.rows, kPairOutputs)} * kPairOutputs * (w.depth() / kStepK);
  launch(pack_records_kernel, dim3(blocks_for(count)), dim3(kThreads), 0, stream, false,
         static_cast<const uint32_t*>(records), static_cast<char*>(to), w, count);
}

void rows_to_bf16(const float* x, uint16_t* y, int32_t rows, int32_t cols, int32_t stride, Stream stream) {
  const int64_t pairs = int64_t{rows} * stride / 2;
  launch(rows_to_bf16_kernel, dim3(blocks_for(pairs)), dim3(kThreads), 0, stream, true, x, y, cols, stride, pairs);
}

void rows_to_bytes(const float* x, const ByteRows& to, int32_t rows, int32_t cols, Stream stream) {
  const int64_t steps = int64_t{rows} * (to.stride / kStepK);
  launch(rows_to_bytes_kernel, dim3(blocks_for(steps * 32)), dim3(kThreads), 0, stream, true, x, to, cols, steps);
}

}  // namespace paceline::kernels::cuda
