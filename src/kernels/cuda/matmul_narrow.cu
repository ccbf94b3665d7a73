// Matrix products of few rows. Weights are the fixed operand of the tensor cores and rows the narrow one (8 at a time).
//
//   y [rows, n] = W [n, k] x [rows, k]
// A block of four warps owns a unit of 64 outputs (gated: 32 of gate and the same 32 of up) and one part of K, or all
// parts in turn. Each warp streams its tile of 16 outputs; the rows' part of K lies in shared memory. The sums of parts
// are added in ascending order by whichever block of the unit comes last, or in registers where one block has them all.
//
// Bound: bytes of weights over memory bandwidth; q4 by instructions. Share reached on an H200, 31B's shapes, 1 row (8
// rows): bf16 71 to 92 % (60 to 88 %), q8 54 to 77 % (42 to 67 %), q4 27 to 38 % (21 to 35 %).
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/matmul.h"

namespace paceline::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kOutPad = kUnitOutputs + 4;

// Where a block stands.
struct Unit {
  const Product* product;
  int32_t unit, part, parts_here;
  int32_t expert;      // -1: none
  int32_t first_slot;  // expert's
  int32_t row_base, rows;
};

__device__ bool find_unit(const MatmulArgs& args, int32_t group_rows, Unit& u) {
  int32_t p = 0;
  while (p + 1 < args.count && static_cast<int32_t>(blockIdx.x) >= args.out[p + 1].first_block) ++p;
  const Product& product = args.out[p];
  const int32_t parts = product.weight.parts();
  int32_t local = static_cast<int32_t>(blockIdx.x) - product.first_block;
  u.product = &product;
  u.part = product.split > 1 ? local % parts : 0;
  u.parts_here = product.split > 1 ? 1 : parts;
  local /= product.split;
  u.unit = local % product.units;
  u.expert = -1;
  u.first_slot = 0;
  u.rows = args.rows;
  u.row_base = static_cast<int32_t>(blockIdx.y) * group_rows;
  return true;
}

// Which experts are touched is known only when the kernel in front of this one has ended.
__device__ bool find_expert(const MatmulArgs& args, Unit& u) {
  const ExpertPlan& plan = *args.experts.plan;
  const int32_t local = (static_cast<int32_t>(blockIdx.x) - u.product->first_block) / u.product->split;
  const int32_t at = local / u.product->units;
  if (at >= plan.touched) return false;
  u.expert = plan.expert[at];
  u.first_slot = plan.first[at];
  u.rows = plan.first[at + 1] - u.first_slot;
  return true;
}

__device__ __forceinline__ const char* row_of(const MatmulArgs& args, const Unit& u, int32_t row, int32_t row_bytes) {
  int32_t from = row;
  if (u.expert >= 0) from = args.experts.slot_row ? args.experts.slot_row[u.first_slot + row] : u.first_slot + row;
  return static_cast<const char*>(args.x.values) + static_cast<int64_t>(from) * row_bytes;
}

// Copies columns [begin, begin + bytes) of the unit's rows behind each other, zeros where there is no row. All copies
// are on their way at once.
template <int kRows>
__device__ __forceinline__ void stage_rows(const MatmulArgs& args, const Unit& u, int32_t row_bytes, int32_t begin,
                                           int32_t bytes, uint32_t shared, int32_t stride) {
  const int32_t chunks = bytes / 16;
#pragma unroll
  for (int32_t i = 0; i < kRows / (kThreads / 32); ++i) {
    const int32_t r = i * (kThreads / 32) + static_cast<int32_t>(threadIdx.x / 32);
    const bool has = u.row_base + r < u.rows;
    const char* from =
        has ? row_of(args, u, u.row_base + r, row_bytes) + begin : static_cast<const char*>(args.x.values);
#pragma unroll 4
    for (int32_t c = threadIdx.x % 32; c < chunks; c += 32)
      copy16_async(shared + r * stride + c * 16, has ? from + c * 16 : from, has);
  }
  commit_copies();
}

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

// The warp's tile of a unit: its weight and where it starts; no weight where there is none.
struct Tile {
  const char* values;
  const char* scales;
  bool present;
};

__device__ Tile find_tile(const Unit& u, int warp) {
  const bool gated = u.product->gated();
  const Weight& w = gated && warp >= 2 ? u.product->up : u.product->weight;
  const int32_t tile = gated ? u.unit * 2 + warp % 2 : u.unit * 4 + warp;
  Tile t;
  t.present = tile < w.tiles();
  const int64_t per_tile = w.format == Format::bf16 ? int64_t{w.depth()} * 32
                           : w.format == Format::q8 ? int64_t{w.depth()} * 16
                                                    : int64_t{w.depth()} * 8;
  const int64_t expert = u.expert >= 0 ? u.expert : 0;
  t.values = static_cast<const char*>(w.values) + expert * w.stride_values + (t.present ? tile * per_tile : 0);
  t.scales = nullptr;
  if (w.scales != nullptr) {
    const int64_t per_tile_scales = int64_t{w.depth() / w.group} * 16 * (w.wide_scales ? 8 : 4);
    t.scales = static_cast<const char*>(w.scales) + expert * w.stride_scales + (t.present ? tile * per_tile_scales : 0);
  }
  return t;
}

// One unit's sums in shared memory [rows][kOutPad] become outputs.
template <int kRows>
__device__ void write_outputs(const Unit& u, const float* sums) {
  const Product& p = *u.product;
  const int32_t n = p.weight.rows;
  const bool gated = p.gated();
  const int32_t width = gated ? kUnitOutputs / 2 : kUnitOutputs;
  for (int32_t i = threadIdx.x; i < kRows * width; i += kThreads) {
    const int32_t r = i / width, o = i % width;
    const int32_t output = u.unit * width + o;
    if (u.row_base + r >= u.rows || output >= n) continue;
    float value = sums[r * kOutPad + o];
    if (gated) value = gelu(value) * sums[r * kOutPad + o + kUnitOutputs / 2];
    const int64_t row = u.first_slot + u.row_base + r;
    if (p.y != nullptr) p.y[row * n + output] = value;
    if (p.y_bf16 != nullptr)
      reinterpret_cast<__nv_bfloat16*>(p.y_bf16)[row * p.y_stride + output] = __float2bfloat16_rn(value);
  }
}

// Leaves this part's sums for the block of the unit that comes last, which adds them up.
template <int kRows>
__device__ void add_up_parts(const MatmulArgs& args, const Unit& u, float* sums) {
  constexpr int32_t kFloats = kRows * kUnitOutputs;
  const int32_t floats = min(kRows, u.rows - u.row_base) * kUnitOutputs;
  const int64_t block = static_cast<int64_t>(blockIdx.y) * gridDim.x + blockIdx.x;
  float* mine = args.partial + block * kFloats;
  for (int32_t i = threadIdx.x; i < floats; i += kThreads)
    __stcg(mine + i, sums[i / kUnitOutputs * kOutPad + i % kUnitOutputs]);
  __threadfence();
  __syncthreads();
  __shared__ int32_t came;
  int32_t* arrivals = args.arrivals + block - u.part;
  if (threadIdx.x == 0) came = atomicAdd(arrivals, 1);
  __syncthreads();
  if (came != u.product->split - 1) return;
  __threadfence();
  const float* first = args.partial + (block - u.part) * kFloats;
  for (int32_t i = threadIdx.x; i < floats; i += kThreads) {
    float sum = __ldcg(first + i);
#pragma unroll 16
    for (int32_t part = 1; part < u.product->split; ++part) sum += __ldcg(first + part * kFloats + i);
    sums[i / kUnitOutputs * kOutPad + i % kUnitOutputs] = sum;
  }
  if (threadIdx.x == 0) *arrivals = 0;
  __syncthreads();
  write_outputs<kRows>(u, sums);
}

template <int kTiles>
__device__ void finish(const MatmulArgs& args, const Unit& u, const float (&total)[kTiles][4], float* sums) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll
  for (int j = 0; j < kTiles; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) sums[(j * 8 + t * 2 + i % 2) * kOutPad + warp * 16 + g + i / 2 * 8] = total[j][i];
  __syncthreads();
  if (u.product->split > 1)
    add_up_parts<kTiles * 8>(args, u, sums);
  else
    write_outputs<kTiles * 8>(u, sums);
}

// ---- bf16

constexpr int kAhead = 8;  // fragments on their way per warp

template <int kTiles>
__global__ void __launch_bounds__(kThreads, kTiles == 1 ? 5 : 4) narrow_bf16(const __grid_constant__ MatmulArgs args) {
  constexpr int kRows = kTiles * 8;
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
  const int32_t all_steps = w.depth() / 16, part_steps = w.part * 4;
  const int32_t begin = u.part * part_steps;
  const int32_t end = min(all_steps, begin + u.parts_here * part_steps);
  const char* stream = tile.values + static_cast<int64_t>(begin) * 512 + lane * 16;
  const int32_t steps = tile.present ? end - begin : 0;

  uint4 a[kAhead];
#pragma unroll
  for (int i = 0; i < kAhead; ++i)
    if (i < steps) a[i] = load_once(stream + i * 512);
  if (!stack) wait_for_previous();

  float total[kTiles][4] = {};
  const int32_t stride = w.part * kBlockK * 2 + 16;
  const char* mine = staged + g * stride + t * 4;
  for (int32_t part_begin = begin; part_begin < end; part_begin += part_steps) {
    const int32_t part_end = min(end, part_begin + part_steps);
    if (part_begin != begin) __syncthreads();
    stage_rows<kRows>(args, u, args.x.stride * 2, part_begin * 32, (part_end - part_begin) * 32, shared_address(staged),
                      stride);
    wait_copies<0>();
    __syncthreads();
    if (!tile.present) continue;
    float acc[kTiles][4] = {};
    // Parts are multiples of four steps; the ring of loads runs on across parts.
    const int32_t from = part_begin - begin, to = part_end - begin;
    for (int32_t outer = from / kAhead * kAhead; outer < to; outer += kAhead) {
#pragma unroll
      for (int quarter = 0; quarter < kAhead / 4; ++quarter) {
        const int32_t s = outer + quarter * 4;
        if (s < from || s >= to) continue;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const char* b = mine + (s - from + i) * 32;
#pragma unroll
          for (int j = 0; j < kTiles; ++j)
            mma_bf16(acc[j], a[quarter * 4 + i], *reinterpret_cast<const uint32_t*>(b + j * 8 * stride),
                     *reinterpret_cast<const uint32_t*>(b + j * 8 * stride + 16));
          if (s + i + kAhead < steps)
            a[quarter * 4 + i] = load_once(stream + static_cast<int64_t>(s + i + kAhead) * 512);
        }
      }
    }
#pragma unroll
    for (int j = 0; j < kTiles; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) total[j][i] = part_begin == begin ? acc[j][i] : total[j][i] + acc[j][i];
  }
  finish<kTiles>(args, u, total, sums);
}

// ---- q8, q4: whole groups in exact integers, then
//   total += scale_w * scale_x * integers + bias_w * (scale_x * sum of x's integers)

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

template <class Kernel>
void start(Kernel kernel, const MatmulArgs& args, int32_t groups, size_t shared_bytes, Stream stream, bool early) {
  launch(kernel, dim3(static_cast<unsigned>(args.blocks), static_cast<unsigned>(groups)), dim3(kThreads), shared_bytes,
         stream, early, args);
}

template <int kTiles>
void start_format(const MatmulArgs& args, int32_t groups, int32_t part, Stream stream, bool early) {
  const Weight& w = args.out[0].weight;
  const size_t rows = kTiles * 8;
  if (w.format == Format::bf16) {
    start(narrow_bf16<kTiles>, args, groups, rows * static_cast<size_t>(part * kBlockK * 2 + 16), stream, early);
    return;
  }
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

void matmul_narrow(MatmulArgs args, Stream stream, bool early) {
  const int32_t group_rows = args.rows <= 8 ? 8 : 16;
  const int32_t groups = ceil_div(args.rows, group_rows);
  int32_t part = 0;
  args.blocks = 0;
  for (int32_t i = 0; i < args.count; ++i) {
    Product& p = args.out[i];
    p.first_block = args.blocks;
    p.units = ceil_div(p.weight.rows, p.gated() ? kUnitOutputs / 2 : kUnitOutputs);
    const int32_t matrices = args.experts.plan != nullptr ? args.experts.most_touched : 1;
    // Parts of a unit go to blocks of their own unless there are plenty of blocks without that.
    p.split = p.units * matrices >= 2048 || groups > 4 ? 1 : p.weight.parts();
    args.blocks += p.units * matrices * p.split;
    if (p.weight.part > part) part = p.weight.part;
  }
  if (group_rows == 8)
    start_format<1>(args, groups, part, stream, early);
  else
    start_format<2>(args, groups, part, stream, early);
}

}  // namespace paceline::kernels::cuda
