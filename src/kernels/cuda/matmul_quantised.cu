// Products of few rows with q8 and q4 weights: whole groups in exact integers on the tensor cores, then
//   total += scale_w * scale_x * integers + bias_w * (scale_x * sum of x's integers)
//
// Bound: bytes of weights over memory bandwidth, q4 by instructions. Share reached on an H200, 31B's shapes, 1 row (8
// rows): q8 54 to 77 % (42 to 67 %), q4 27 to 38 % (21 to 35 %).
#include "kernels/cuda/matmul_narrow.cuh"

namespace paceline::kernels::cuda {
namespace narrow {
namespace {

// The same through registers: q8's kernel loses a seventh of its speed with the other, for no reason that was found.
template <int kRows>
__device__ void stage_rows_now(const MatmulArgs& args, const Unit& u, int32_t row_bytes, int32_t begin, int32_t bytes,
                               char* shared, int32_t stride) {
  const int32_t chunks = bytes / 16;
  for (int32_t r = threadIdx.x / 32; r < kRows; r += kThreads / 32) {
    const bool has = u.row_base + r < u.rows;
    const char* from = has ? row_of(args, u, u.row_base + r, row_bytes) + begin : nullptr;
    for (int32_t c = threadIdx.x % 32; c < chunks; c += 32) {
      const uint4 v = has ? *reinterpret_cast<const uint4*>(from + c * 16) : make_uint4(0, 0, 0, 0);
      *reinterpret_cast<uint4*>(shared + r * stride + c * 16) = v;
    }
  }
}

template <bool kWide>
struct ScalePair;
template <>
struct ScalePair<false> {
  uint32_t bits;
  __device__ void load(const void* p) { bits = load_word(p); }
  __device__ float scale() const { return bf16_bits_to_float(bits & 0xffffu); }
  __device__ float bias() const { return __uint_as_float(bits & 0xffff0000u); }
};
template <>
struct ScalePair<true> {
  float2 pair;
  __device__ void load(const void* p) { pair = load_pair(p); }
  __device__ float scale() const { return pair.x; }
  __device__ float bias() const { return pair.y; }
};

// What one block of 64 columns needs of a tile.
template <Format kFormat, bool kWide>
struct QuantBlock {
  uint4 values[kFormat == Format::q8 ? 2 : 1];
  ScalePair<kWide> scales[2][2];  // [run][row g, row g + 8]

  __device__ void load(const char* stream, const char* scale_stream, int32_t block, int32_t group, int g) {
    constexpr int kBytes = kFormat == Format::q8 ? 1024 : 512;
#pragma unroll
    for (int i = 0; i < kBytes / 512; ++i)
      values[i] = load_once(stream + static_cast<int64_t>(block) * kBytes + i * 512);
    // A division by the group would cost more than the rest.
    const int32_t first = group == 32 ? block * 2 : group == 64 ? block : block / 2;
    const auto* pairs = reinterpret_cast<const ScalePair<kWide>*>(scale_stream) + static_cast<int64_t>(first) * 16 + g;
    scales[0][0].load(pairs);
    scales[0][1].load(pairs + 8);
    if (group == 32) {
      scales[1][0].load(pairs + 16);
      scales[1][1].load(pairs + 24);
    }
  }

  // Fragment of 32 columns, i = 0 or 1.
  __device__ void fragment(int i, uint32_t (&a)[4]) const {
    if constexpr (kFormat == Format::q8) {
      a[0] = values[i].x;
      a[1] = values[i].y;
      a[2] = values[i].z;
      a[3] = values[i].w;
    } else {
      const uint32_t low = i == 0 ? values[0].x : values[0].z, high = i == 0 ? values[0].y : values[0].w;
      a[0] = low & 0x0f0f0f0fu;
      a[1] = high & 0x0f0f0f0fu;
      a[2] = low >> 4 & 0x0f0f0f0fu;
      a[3] = high >> 4 & 0x0f0f0f0fu;
    }
  }
};

template <int kTiles, bool kWide>
__device__ __forceinline__ void settle(float (&acc)[kTiles][4], const int32_t (&exact)[kTiles][4],
                                       const ScalePair<kWide> (&scales)[2], const float2* x_scales) {
  // x_scales [rows] of this run.
  const int t = threadIdx.x % 4;
  float4 x[kTiles];  // {scale, sum} of rows 2t and 2t + 1
#pragma unroll
  for (int j = 0; j < kTiles; ++j) x[j] = *reinterpret_cast<const float4*>(x_scales + j * 8 + t * 2);
  const float scale[2] = {scales[0].scale(), scales[1].scale()}, bias[2] = {scales[0].bias(), scales[1].bias()};
#pragma unroll
  for (int j = 0; j < kTiles; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float x_scale = i % 2 == 0 ? x[j].x : x[j].z, x_sum = i % 2 == 0 ? x[j].y : x[j].w;
      acc[j][i] = fmaf(scale[i / 2] * x_scale, static_cast<float>(exact[j][i]), acc[j][i]);
      acc[j][i] = fmaf(bias[i / 2], x_sum, acc[j][i]);
    }
}

template <Format kFormat, bool kWide, int kTiles>
__global__ void __launch_bounds__(kThreads, kTiles == 1 ? 5 : 4)
    narrow_quantised(const __grid_constant__ MatmulArgs args) {
  constexpr int kRows = kTiles * 8;
  constexpr int kQuantAhead = kFormat == Format::q8 ? 3 : 4;
  extern __shared__ __align__(16) char staged[];
  __shared__ float sums[kRows * kOutPad];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  let_next_start();
  Unit u;
  find_unit(args, kRows, u);
  const bool stack = args.experts.plan != nullptr;
  if (stack) {
    wait_for_previous();
    if (!find_expert(args, u)) return;
  }
  if (u.row_base >= u.rows) return;
  const Weight& w = u.product->weight;
  const Tile tile = find_tile(u, warp);
  const int32_t group = w.group, run = group < 64 ? group : 64;
  const int32_t all_blocks = w.depth() / 64;
  const int32_t begin = u.part * w.part, end = min(all_blocks, begin + u.parts_here * w.part);
  constexpr int kBlockBytes = kFormat == Format::q8 ? 1024 : 512;
  const char* stream = tile.values + static_cast<int64_t>(begin) * kBlockBytes + lane * 16;
  const char* scale_stream = tile.scales + static_cast<int64_t>(begin) * 64 / group * 16 * (kWide ? 8 : 4);
  const int32_t blocks = tile.present ? end - begin : 0;

  QuantBlock<kFormat, kWide> ring[kQuantAhead];
#pragma unroll
  for (int i = 0; i < kQuantAhead; ++i)
    if (i < blocks) ring[i].load(stream, scale_stream, i, group, g);
  if (!stack) wait_for_previous();

  float total[kTiles][4] = {};
  const int32_t stride = w.part * kBlockK + 16;
  auto* x_scales = reinterpret_cast<float2*>(staged + kRows * stride);  // [runs of a part][kRows]
  const char* mine = staged + g * stride + t * 4;
  for (int32_t part_begin = begin; part_begin < end; part_begin += w.part) {
    const int32_t part_end = min(end, part_begin + w.part);
    if (part_begin != begin) __syncthreads();
    const int32_t first = part_begin * 64, columns = (part_end - part_begin) * 64;
    if constexpr (kFormat == Format::q8)
      stage_rows_now<kRows>(args, u, args.x.stride, first, columns, staged, stride);
    else
      stage_rows<kRows>(args, u, args.x.stride, first, columns, shared_address(staged), stride);
    const int32_t runs = (part_end - part_begin) * 64 / run, all_runs = args.x.stride / run;
    for (int32_t i = threadIdx.x; i < runs * kRows; i += kThreads) {
      const int32_t r = i % kRows;
      float2 v = make_float2(0, 0);
      if (u.row_base + r < u.rows) {
        int32_t from = u.row_base + r;
        if (u.expert >= 0)
          from = args.experts.slot_row ? args.experts.slot_row[u.first_slot + from] : u.first_slot + from;
        v = reinterpret_cast<const float2*>(
            args.x.scales)[static_cast<int64_t>(from) * all_runs + part_begin * 64 / run + i / kRows];
      }
      x_scales[i] = v;
    }
    if constexpr (kFormat != Format::q8) wait_copies<0>();
    __syncthreads();
    if (!tile.present) continue;
    float acc[kTiles][4] = {};
    const int32_t from = part_begin - begin, to = part_end - begin;
    for (int32_t outer = from / kQuantAhead * kQuantAhead; outer < to; outer += kQuantAhead) {
#pragma unroll
      for (int i = 0; i < kQuantAhead; ++i) {
        const int32_t block = outer + i;
        if (block < from || block >= to) continue;
        int32_t exact[kTiles][4] = {};
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          uint32_t a[4];
          ring[i].fragment(half, a);
          const char* b = mine + (block - from) * 64 + half * 32;
#pragma unroll
          for (int j = 0; j < kTiles; ++j)
            mma_u8s8(exact[j], a[0], a[1], a[2], a[3], *reinterpret_cast<const uint32_t*>(b + j * 8 * stride),
                     *reinterpret_cast<const uint32_t*>(b + j * 8 * stride + 16));
          if (half == 0 && run == 32) {
            settle<kTiles, kWide>(acc, exact, ring[i].scales[0], x_scales + (block - from) * 2 * kRows);
#pragma unroll
            for (int j = 0; j < kTiles; ++j)
#pragma unroll
              for (int k = 0; k < 4; ++k) exact[j][k] = 0;
          }
        }
        if (run == 32)
          settle<kTiles, kWide>(acc, exact, ring[i].scales[1], x_scales + ((block - from) * 2 + 1) * kRows);
        else
          settle<kTiles, kWide>(acc, exact, ring[i].scales[0], x_scales + (block - from) * kRows);
        if (block + kQuantAhead < blocks) ring[i].load(stream, scale_stream, block + kQuantAhead, group, g);
      }
    }
#pragma unroll
    for (int j = 0; j < kTiles; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) total[j][i] = part_begin == begin ? acc[j][i] : total[j][i] + acc[j][i];
  }
  finish<kTiles>(args, u, total, sums);
}

template <int kTiles>
void start_quantised(const MatmulArgs& args, int32_t groups, int32_t part, Stream stream, bool early) {
  const Weight& w = args.out[0].weight;
  const size_t rows = kTiles * 8;
  const size_t bytes = rows * static_cast<size_t>(part * kBlockK + 16) +
                       rows * static_cast<size_t>(part * kBlockK / (w.group < 64 ? w.group : 64)) * sizeof(float2);
  if (w.format == Format::q8 && w.wide_scales)
    start(narrow_quantised<Format::q8, true, kTiles>, args, groups, bytes, stream, early);
  else if (w.format == Format::q8)
    start(narrow_quantised<Format::q8, false, kTiles>, args, groups, bytes, stream, early);
  else if (w.wide_scales)
    start(narrow_quantised<Format::q4, true, kTiles>, args, groups, bytes, stream, early);
  else
    start(narrow_quantised<Format::q4, false, kTiles>, args, groups, bytes, stream, early);
}

}  // namespace
}  // namespace narrow

void matmul_quantised(const MatmulArgs& args, int32_t groups, int32_t part, Stream stream, bool early) {
  if (args.rows <= 8)
    narrow::start_quantised<1>(args, groups, part, stream, early);
  else
    narrow::start_quantised<2>(args, groups, part, stream, early);
}

}  // namespace paceline::kernels::cuda
