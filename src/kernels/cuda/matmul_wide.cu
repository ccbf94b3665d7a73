// Matrix products of many rows, on the tensor cores.
//
//   y [rows, n] = W [n, k] x [rows, k], bf16
// A block of two warpgroups owns 128 outputs (gated: 64 of gate and the same 64 of up) and 64 to 224 rows. Weights go
// straight into registers in the order they are packed in; rows pass through shared memory in stages of 64 columns,
// 128-byte rows whose 16-byte chunks are exchanged by row number (the tensor cores' own swizzle). At the border of a
// part of K the sums of the part are added to the total, as narrow kernels add them: a row's bits are the same in both.
// Up to 160 rows the total is in registers, with more in shared memory.
//
// Bound: operations. Share of 790 TFLOP/s reached on an H200 with 2048 rows: 67 to 85 % at 12B's and 31B's widths, 53 to
// 67 % at 26B-A4B's narrow ones. With no loads at all behind the first blocks it is 4 to 20 % more: without weights alone
// or without rows alone 0 to 15 %, so that sharing either between blocks has little to win.
#include <algorithm>

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/matmul.h"
#include "kernels/cuda/warpgroup.cuh"
#include "kernels/cuda/wide_place.cuh"

namespace paceline::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kGroupOutputs = 64;  // of a warpgroup
constexpr int kOutStride = 2 * kGroupOutputs + 4;
constexpr int kStages = 4;
template <int kRows>
constexpr int kStageBytes = kRows* kBlockK * 2;
// Whether totals are in registers; else they lie behind the stages. Outputs at the end take the place of all.
template <int kRows>
constexpr bool kInRegisters = kRows <= 160;
template <int kRows>
constexpr int kSharedBytes = 1024 + (kInRegisters<kRows> ? kRows * kOutStride * 4
                                                         : kStages * kStageBytes<kRows> + kRows * 128 * 4);
static_assert(kSharedBytes<128> >= kStages * kStageBytes<128> + 1024);
static_assert(kSharedBytes<224> >= 224 * kOutStride * 4 && kSharedBytes<224> <= 232448);

// Eight threads copy a row of every stage, 16 bytes each; a thread has every 32nd row.
template <int kRows>
struct RowCopy {
  static constexpr int kEach = kRows / (kThreads / 8);
  const char* from;        // the thread's chunk of row 0
  uint32_t offset[kEach];  // of its rows, in 16 bytes
  uint32_t has;            // one bit per row
  uint32_t to;             // of stage 0: the thread's chunk of its first row

  __device__ RowCopy(const MatmulArgs& args, const WidePlace& at, uint32_t shared) {
    const int row = threadIdx.x / 8, chunk = threadIdx.x % 8;
    has = 0;
    from = static_cast<const char*>(args.x.values) + chunk * 16;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int32_t source = at.row_number(args, at.row_base + row + i * 32);
      const bool there = source >= 0;
      offset[i] = there ? static_cast<uint32_t>(source) * static_cast<uint32_t>(args.x.stride / 8) : 0u;
      has |= there ? 1u << i : 0u;
    }
    // Rows 32 apart have the same place in their group of eight, and so the same swizzle.
    to = shared + row * 128 + ((chunk ^ (row & 7)) << 4);
  }
  __device__ void stage(int32_t block, int slot, int32_t blocks) const {
    const bool inside = block < blocks;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const bool take = inside && (has >> i & 1u) != 0;
      copy16_async(to + slot * kStageBytes<kRows> + i * 32 * 128,
                   from + (static_cast<uint64_t>(offset[i]) << 4) + static_cast<int64_t>(take ? block : 0) * 128, take);
    }
  }
};

// One block of K: acc += W x, from acc = 0 where keep is 0.
template <int kFloats>
__device__ __forceinline__ void multiply_block(float (&acc)[kFloats], const uint4 (&a)[4], uint32_t rows, int keep) {
#if PACELINE_WARPGROUPS
  warpgroup_fence();
#pragma unroll
  for (int k = 0; k < 4; ++k) warpgroup_mma(acc, a[k], describe(rows + k * 32), k == 0 ? keep : 1);
  warpgroup_commit();
#else
  if (keep == 0)
#pragma unroll
    for (int i = 0; i < kFloats; ++i) acc[i] = 0;
  const int lane = threadIdx.x % 32;
  const int row = lane % 8 + lane / 16 * 8;
#pragma unroll
  for (int k = 0; k < 4; ++k)
#pragma unroll
    for (int j = 0; j < kFloats / 4; j += 2) {
      uint32_t b[4];
      const int chunk = k * 2 + lane / 8 % 2;
      ldmatrix4(rows + (j * 8 + row) * 128 + ((chunk ^ (row & 7)) << 4), b[0], b[1], b[2], b[3]);
      mma_bf16(*reinterpret_cast<float(*)[4]>(acc + j * 4), a[k], b[0], b[1]);
      mma_bf16(*reinterpret_cast<float(*)[4]>(acc + j * 4 + 4), a[k], b[2], b[3]);
    }
#endif
}

template <int kLeft>
__device__ __forceinline__ void wait_products() {
#if PACELINE_WARPGROUPS
  warpgroup_wait<kLeft>();
#endif
}

__device__ __forceinline__ void load_block(uint4 (&a)[4], const char* stream, int32_t block, int32_t blocks) {
#pragma unroll
  for (int k = 0; k < 4; ++k)
    a[k] = block < blocks ? *reinterpret_cast<const uint4*>(stream + static_cast<int64_t>(block) * 2048 + k * 512)
                          : make_uint4(0, 0, 0, 0);
}

template <int kFloats>
__device__ void write_outputs(const WidePlace& at, const float (&total)[kFloats], float* sums) {
  constexpr int kRows = kFloats * 2;
  const int group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  __syncthreads();
#pragma unroll
  for (int j = 0; j < kFloats / 4; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      sums[(j * 8 + t * 2 + i % 2) * kOutStride + group * kGroupOutputs + warp * 16 + g + i / 2 * 8] = total[j * 4 + i];
  __syncthreads();
  if (at.product->gated())
    write_rows<kThreads, kRows, kGroupOutputs, kOutStride, kGroupOutputs>(at, sums);
  else
    write_rows<kThreads, kRows, 2 * kGroupOutputs, kOutStride, 0>(at, sums);
}

// Where a warp's weights stream from.
struct Stream16 {
  const char* from;
  int32_t blocks, blocks_here, part;

  __device__ Stream16(const WidePlace& at) {
    const int group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    const bool gated = at.product->gated();
    const Weight& w = gated && group == 1 ? at.product->up : at.product->weight;
    const int32_t tile = gated ? at.unit * 4 + warp : at.unit * 8 + group * 4 + warp;
    blocks = w.depth() / kBlockK;
    blocks_here = tile < w.tiles() ? blocks : 0;
    part = w.part;
    from = static_cast<const char*>(w.values) + static_cast<int64_t>(at.expert) * w.stride +
           static_cast<int64_t>(blocks_here == 0 ? 0 : tile) * blocks * 2048 + lane * 16;
  }
};

// Totals of the parts so far, each thread's own: [float4][thread]. Kept there, or added to the last part's sums.
template <int kFloats>
[[maybe_unused]] __device__ __forceinline__ void keep_totals(const float (&acc)[kFloats], float4* totals) {
#pragma unroll
  for (int i = 0; i < kFloats / 4; ++i)
    totals[i * kThreads + threadIdx.x] = make_float4(acc[i * 4], acc[i * 4 + 1], acc[i * 4 + 2], acc[i * 4 + 3]);
}
template <int kFloats>
[[maybe_unused]] __device__ __forceinline__ void add_totals(float (&acc)[kFloats], const float4* totals) {
#pragma unroll
  for (int i = 0; i < kFloats / 4; ++i) {
    const float4 t = totals[i * kThreads + threadIdx.x];
    acc[i * 4] = t.x + acc[i * 4];
    acc[i * 4 + 1] = t.y + acc[i * 4 + 1];
    acc[i * 4 + 2] = t.z + acc[i * 4 + 2];
    acc[i * 4 + 3] = t.w + acc[i * 4 + 3];
  }
}

// Up to 224 rows: what a block of K needs is asked for two blocks ahead.
template <int kRows>
__global__ void __launch_bounds__(kThreads, 1) wide_deep(const __grid_constant__ MatmulArgs args) {
  constexpr int kFloats = kRows / 2;
  extern __shared__ char raw[];
  const uint32_t skip = (shared_address(raw) + 1023) / 1024 * 1024 - shared_address(raw);
  const uint32_t shared = shared_address(raw) + skip;
  [[maybe_unused]] auto* totals = reinterpret_cast<float4*>(raw + skip + kStages * kStageBytes<kRows>);
  WidePlace at;
  let_next_start();
  wait_for_previous();
  if (!at.find(args, kRows)) return;
  const Stream16 weights(at);
  const int32_t blocks = weights.blocks, blocks_here = weights.blocks_here;
  const char* stream = weights.from;
  const RowCopy<kRows> copy(args, at, shared);
#pragma unroll
  for (int s = 0; s < 2; ++s) {
    copy.stage(s, s, blocks);
    commit_copies();
  }
  // Four blocks of weights: this one's, the one before, whose products may still run, and two on their way.
  uint4 a[4][4];
  load_block(a[0], stream, 0, blocks_here);
  load_block(a[1], stream, 1, blocks_here);
  float acc[kFloats];
  // In registers, where there are enough.
  [[maybe_unused]] float total[kInRegisters<kRows> ? kFloats : 1] = {};
  const int32_t part = weights.part;
  for (int32_t part_begin = 0; part_begin < blocks; part_begin += part) {
    // Blocks behind the last one are zeros on both sides, and add nothing.
    const int32_t part_end = min(blocks, part_begin + part);
    for (int32_t outer = part_begin; outer < part_end; outer += 4) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int32_t block = outer + i;
        wait_copies<1>();
        show_copies_to_tensor_cores();
        __syncthreads();
        // The slot of two blocks ago: every thread has waited for that block's products.
        copy.stage(block + 2, (i + 2) % kStages, blocks);
        commit_copies();
        multiply_block(acc, a[i], shared + i * kStageBytes<kRows>, i > 0 || outer > part_begin);
        wait_products<1>();
        load_block(a[(i + 2) % 4], stream, block + 2, blocks_here);
      }
    }
    wait_products<0>();
    if constexpr (kInRegisters<kRows>) {
#pragma unroll
      for (int k = 0; k < kFloats; ++k) total[k] += acc[k];
    } else {
      if (part_begin > 0) add_totals(acc, totals);
      if (part_end < blocks) keep_totals(acc, totals);
    }
  }
  wait_copies<0>();
  if constexpr (kInRegisters<kRows>)
    write_outputs(at, total, reinterpret_cast<float*>(raw));
  else
    write_outputs(at, acc, reinterpret_cast<float*>(raw));
}

// What a block of so many rows takes for 64 columns, and for its outputs, in ns: measured on an H200.
struct RowCosts {
  int32_t rows, step, ends;
};
constexpr RowCosts kRowCosts[] = {
    {224, 636, 6000}, {192, 579, 5000}, {160, 521, 3200}, {128, 452, 2200}, {64, 370, 1500}};

// How many rows a block has: the choice that is through first.
int32_t block_rows(const MatmulArgs& args) {
  const int64_t steps = args.out[0].weight.depth() / kBlockK;
  int32_t best = 128;
  int64_t best_cost = INT64_MAX;
  for (const auto& [rows, step, ends] : kRowCosts) {
    int64_t blocks = int64_t{args.blocks};
    if (args.experts.plan != nullptr) {
      // As if every expert had a little more than its share.
      const int32_t each = ceil_div(args.experts.slots * 9 / 8, args.experts.most_touched);
      blocks *= int64_t{args.experts.most_touched} * ceil_div(each, rows);
    } else {
      blocks *= ceil_div(args.rows, rows);
    }
    const int64_t cost = (blocks + multiprocessors() - 1) / multiprocessors() * (steps * step + ends);
    if (cost >= best_cost) continue;
    best = rows;
    best_cost = cost;
  }
  return best;
}

template <int kRows, class Kernel>
void start(Kernel kernel, const MatmulArgs& args, Stream stream) {
  launch(kernel, dim3(static_cast<unsigned>(row_blocks(args, kRows)), static_cast<unsigned>(args.blocks)),
         dim3(kThreads), kSharedBytes<kRows>, stream, true, args);
}

}  // namespace

int32_t multiprocessors() {
  static const int32_t count = [] {
    int device = 0, found = 132;
    (void)cudaGetDevice(&device);
    (void)cudaDeviceGetAttribute(&found, cudaDevAttrMultiProcessorCount, device);
    return found;
  }();
  return count;
}

bool has_warpgroups() {
  static const bool has = [] {
    int device = 0, major = 0;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess && major == 9;
  }();
  return has;
}

void matmul_wide(MatmulArgs args, Stream stream) {
  lay_out(args, 2 * kGroupOutputs);
  switch (has_warpgroups() ? block_rows(args) : 128) {
    case 224: start<224>(wide_deep<224>, args, stream); break;
    case 192: start<192>(wide_deep<192>, args, stream); break;
    case 160: start<160>(wide_deep<160>, args, stream); break;
    case 64: start<64>(wide_deep<64>, args, stream); break;
    default: start<128>(wide_deep<128>, args, stream); break;
  }
}

}  // namespace paceline::kernels::cuda
