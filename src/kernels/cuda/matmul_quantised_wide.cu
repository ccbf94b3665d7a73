// Products of many rows with q8 and q4 weights, in quantised.cuh's arithmetic: a row's bits are those of the narrow
// kernels.
//
//   y [rows, n] = W [n, k] x [rows, k]
// A warp owns two tiles of 16 outputs (gated: one of gate and the same of up) and all rows of its block. Weights go
// straight into registers in the order they are packed in; rows pass through shared memory in stages of 128 columns. At
// the border of a part of K the sums of the part are added to the totals, which lie in shared memory.
//
// Bound: instructions, most of them the scaling of each run's integers.
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/matmul.h"
#include "kernels/cuda/quantised.cuh"
#include "kernels/cuda/wide_place.cuh"

namespace paceline::kernels::cuda {
namespace {

constexpr int kStages = 3;
constexpr int kWarpTiles = 2;  // of 16 outputs

template <class Step, int kWarps, int kRowTiles>
struct Shape {
  static constexpr int kThreads = kWarps * 32, kRows = kRowTiles * 8;
  static constexpr int kRowScaleBytes = Step::kRuns * 8;
  static constexpr int kScalesAt = kRows * kStepK;  // in a stage
  static constexpr int kStageBytes = kScalesAt + kRows * kRowScaleBytes;
  static constexpr int kTotals = kStages * kStageBytes;
  static constexpr int kSharedBytes = kTotals + kThreads * kRowTiles * kWarpTiles * 16;
};

// Eight threads copy a row of every stage, 16 bytes each, and a part of them the rows' scales. Rows that are not there
// are left out: their sums are never written. Odd rows have their halves exchanged, so that two rows fill the banks.
template <class Step, int kWarps, int kRowTiles>
struct StageCopy {
  using S = Shape<Step, kWarps, kRowTiles>;
  static constexpr int kApart = S::kThreads / 8, kEach = S::kRows / kApart;
  static constexpr int kScaleChunks = S::kRowScaleBytes / 16;  // of a row and step
  static constexpr int kScaleEach = (S::kRows * kScaleChunks + S::kThreads - 1) / S::kThreads;
  static constexpr uint32_t kNone = ~0u;
  const char* values;
  const char* scales;
  uint32_t row[kEach], scale_row[kScaleEach];  // where they begin, in 16 bytes; or none
  uint32_t to, scales_to;

  __device__ StageCopy(const MatmulArgs& args, const WidePlace& at, uint32_t shared) {
    const int thread = static_cast<int>(threadIdx.x), first = thread / 8, chunk = thread % 8;
    const auto offset = [&](int r, int32_t units) {
      const int32_t source = at.row_number(args, at.row_base + r);
      return r < S::kRows && source >= 0 ? static_cast<uint32_t>(source) * static_cast<uint32_t>(units) : kNone;
    };
    values = static_cast<const char*>(args.x.values) + chunk * 16;
    scales = reinterpret_cast<const char*>(args.x.scales) + thread % kScaleChunks * 16;
#pragma unroll
    for (int i = 0; i < kEach; ++i) row[i] = offset(first + i * kApart, args.x.stride / 16);
#pragma unroll
    for (int i = 0; i < kScaleEach; ++i)
      scale_row[i] = offset((thread + i * S::kThreads) / kScaleChunks, args.x.stride / Step::kRun / 2);
    to = shared + first * kStepK + ((chunk ^ (first & 1) * 4) << 4);
    scales_to = shared + S::kScalesAt + thread * 16;
  }
  __device__ __forceinline__ void stage(int32_t step, int slot, int32_t steps) const {
    if (step < steps) {
#pragma unroll
      for (int i = 0; i < kEach; ++i)
        if (row[i] != kNone)
          copy16_async(to + slot * S::kStageBytes + i * kApart * kStepK,
                       values + ((static_cast<uint64_t>(row[i]) + static_cast<uint32_t>(step) * (kStepK / 16)) << 4),
                       true);
#pragma unroll
      for (int i = 0; i < kScaleEach; ++i)
        if (scale_row[i] != kNone)
          copy16_async(
              scales_to + slot * S::kStageBytes + i * S::kThreads * 16,
              scales + ((static_cast<uint64_t>(scale_row[i]) + static_cast<uint32_t>(step) * kScaleChunks) << 4), true);
    }
    commit_copies();
  }
};

// Where a tile's weights stream from; a tile that is not there reads the first one's.
template <class Step>
struct TileStream {
  const char* values;
  const char* scales;

  __device__ TileStream(const Weight& w, int32_t tile, int32_t expert) {
    const int lane = threadIdx.x % 32;
    const int64_t steps = w.depth() / kStepK, at = tile < w.tiles() ? tile : 0;
    values = static_cast<const char*>(w.values) + expert * w.stride_values + at * steps * Step::kBytes + lane * 16;
    scales = static_cast<const char*>(w.scales) + expert * w.stride_scales + at * steps * Step::kScaleBytes +
             lane / 4 * (Step::kScaleWords * 4);
  }
};

// What 64 columns of eight rows give a lane: bytes of row g, {scale, scale * sum} of rows 2t and 2t + 1.
template <int kRuns>
struct RowsHalf {
  uint4 bytes;
  float2 scales[2][kRuns];

  __device__ __forceinline__ RowsHalf(uint32_t bytes_at, uint32_t scales_at, int tile, int scale_bytes) {
    bytes = shared_four(bytes_at + tile * 8 * kStepK);
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int r = 0; r < kRuns; ++r) scales[i][r] = shared_pair(scales_at + (tile * 8 + i) * scale_bytes + r * 8);
  }
  __device__ __forceinline__ RunRows run(int r) const {
    return {scales[0][r].x, scales[0][r].y, scales[1][r].x, scales[1][r].y};
  }
};

// Half a step, 64 columns, for all rows: sums += W x.
template <class Step, int kRowTiles>
__device__ __forceinline__ void multiply_half(float (&sums)[kWarpTiles][kRowTiles][4], const Step (&step)[kWarpTiles],
                                              int half, uint32_t bytes, uint32_t row_scales) {
  constexpr int kRunsHere = Step::kRuns / 2, kRowScaleBytes = Step::kRuns * 8;
  const int32_t zero[4] = {kIntegerBits, kIntegerBits, kIntegerBits, kIntegerBits};
  uint32_t a[kWarpTiles][2][4];
  RunScales w[kWarpTiles][kRunsHere];
#pragma unroll
  for (int m = 0; m < kWarpTiles; ++m) {
    step[m].fragment(half * 2, a[m][0]);
    step[m].fragment(half * 2 + 1, a[m][1]);
#pragma unroll
    for (int r = 0; r < kRunsHere; ++r) w[m][r] = step[m].run_scales(half * kRunsHere + r);
  }
  // The next rows are read while these are multiplied.
  RowsHalf<kRunsHere> next(bytes, row_scales, 0, kRowScaleBytes);
#pragma unroll
  for (int j = 0; j < kRowTiles; ++j) {
    const RowsHalf<kRunsHere> now = next;
    if (j + 1 < kRowTiles) next = RowsHalf<kRunsHere>(bytes, row_scales, j + 1, kRowScaleBytes);
    const uint4& b = now.bytes;
#pragma unroll
    for (int m = 0; m < kWarpTiles; ++m) {
      int32_t first[4], exact[4];
      mma_bytes(first, a[m][0], b.x, b.y, zero);
      if constexpr (kRunsHere == 1) {
        mma_bytes(exact, a[m][1], b.z, b.w, first);
        settle(sums[m][j], exact, w[m][0], now.run(0));
      } else {
        mma_bytes(exact, a[m][1], b.z, b.w, zero);
        settle(sums[m][j], first, w[m][0], now.run(0));
        settle(sums[m][j], exact, w[m][1], now.run(1));
      }
    }
  }
}

__device__ __forceinline__ void write_one(const Product& p, int64_t row, int32_t output, float value) {
  if (output >= p.weight.rows) return;
  if (p.y != nullptr) p.y[row * p.weight.rows + output] = value;
  if (p.y_bf16 != nullptr)
    reinterpret_cast<__nv_bfloat16*>(p.y_bf16)[row * p.y_stride + output] = __float2bfloat16_rn(value);
}

template <int kRowTiles>
__device__ void write_sums(const WidePlace& at, int32_t first_tile, const float (&sums)[kWarpTiles][kRowTiles][4]) {
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const Product& p = *at.product;
#pragma unroll
  for (int j = 0; j < kRowTiles; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int32_t r = at.row_base + j * 8 + t * 2 + i % 2;
      if (r >= at.rows) continue;
      const int64_t row = at.first_slot + r;
      const int32_t output = first_tile * kTileOutputs + g + i / 2 * 8;
      if (p.gated()) {
        write_one(p, row, output, gelu(sums[0][j][i]) * sums[1][j][i]);
      } else {
        write_one(p, row, output, sums[0][j][i]);
        write_one(p, row, output + kTileOutputs, sums[1][j][i]);
      }
    }
}

template <class Step, int kWarps, int kRowTiles, int kBlocks>
__global__ void __launch_bounds__(kWarps * 32, kBlocks) wide_quantised(const __grid_constant__ MatmulArgs args) {
  using S = Shape<Step, kWarps, kRowTiles>;
  extern __shared__ __align__(128) char shared[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  let_next_start();
  wait_for_previous();
  WidePlace at;
  if (!at.find(args, S::kRows)) return;
  const Product& p = *at.product;
  const int32_t first_tile = at.unit * kWarps * (p.gated() ? 1 : kWarpTiles) + warp * (p.gated() ? 1 : kWarpTiles);
  const TileStream<Step> streams[kWarpTiles] = {
      {p.weight, first_tile, at.expert}, {p.gated() ? p.up : p.weight, first_tile + (p.gated() ? 0 : 1), at.expert}};
  const int32_t steps = p.weight.depth() / kStepK, part = p.weight.part / 2;
  const StageCopy<Step, kWarps, kRowTiles> copy(args, at, shared_address(shared));
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) copy.stage(s, s, steps);

  Step step[kWarpTiles];
#pragma unroll
  for (int m = 0; m < kWarpTiles; ++m) step[m].load(streams[m].values, streams[m].scales, 0);
  float sums[kWarpTiles][kRowTiles][4] = {};
  auto* totals = reinterpret_cast<float4*>(shared + S::kTotals) + threadIdx.x;
  int slot = 0;
  int32_t border = part;
  for (int32_t s = 0; s < steps; ++s) {
    wait_copies<kStages - 2>();
    __syncthreads();
    // The slot of the step before: every warp is done with it.
    copy.stage(s + kStages - 1, slot == 0 ? kStages - 1 : slot - 1, steps);
    const uint32_t stage = shared_address(shared) + slot * S::kStageBytes;
    const uint32_t bytes = stage + g * kStepK + t * 16;
    const uint32_t row_scales = stage + S::kScalesAt + t * 2 * S::kRowScaleBytes;
    const int32_t next = s + 1 < steps ? s + 1 : s;
    uint32_t next_scales[kWarpTiles][Step::kScaleWords];
#pragma unroll
    for (int m = 0; m < kWarpTiles; ++m) Step::load_scales(next_scales[m], streams[m].scales, next);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      multiply_half(sums, step, half, bytes + (half ^ (g & 1)) * 64, row_scales + half * (S::kRowScaleBytes / 2));
      // This half's place takes that of the next step.
#pragma unroll
      for (int m = 0; m < kWarpTiles; ++m) step[m].load_half(streams[m].values, next, half);
    }
#pragma unroll
    for (int m = 0; m < kWarpTiles; ++m)
#pragma unroll
      for (int i = 0; i < Step::kScaleWords; ++i) step[m].scales[i] = next_scales[m][i];
    slot = slot + 1 == kStages ? 0 : slot + 1;
    if (s + 1 < border && s + 1 < steps) continue;
    // A part ends: its sums are the totals, or are added to them.
    const bool first = border == part, last = s + 1 >= steps;
    border += part;
    if (first && last) break;
#pragma unroll
    for (int m = 0; m < kWarpTiles; ++m)
#pragma unroll
      for (int j = 0; j < kRowTiles; ++j) {
        float4& total = totals[(m * kRowTiles + j) * S::kThreads];
        float(&sum)[4] = sums[m][j];
        if (!first) {
          const float4 before = total;
          sum[0] = before.x + sum[0];
          sum[1] = before.y + sum[1];
          sum[2] = before.z + sum[2];
          sum[3] = before.w + sum[3];
        }
        if (last) continue;
        total = make_float4(sum[0], sum[1], sum[2], sum[3]);
#pragma unroll
        for (int i = 0; i < 4; ++i) sum[i] = 0;
      }
  }
  write_sums(at, first_tile, sums);
}

template <class Step, int kWarps, int kRowTiles, int kBlocks>
void start(MatmulArgs args, Stream stream) {
  using S = Shape<Step, kWarps, kRowTiles>;
  lay_out(args, kWarps * kTileOutputs * kWarpTiles);
  const auto kernel = wide_quantised<Step, kWarps, kRowTiles, kBlocks>;
  launch(kernel, dim3(static_cast<unsigned>(row_blocks(args, S::kRows)), static_cast<unsigned>(args.blocks)),
         dim3(S::kThreads), S::kSharedBytes, stream, true, args);
}

template <Format kFormat, int kGroup, bool kWide>
void start_size(MatmulArgs args, Stream stream) {
  using Step = QuantisedStep<kFormat, kGroup, kWide>;
  start<Step, 4, 8, 2>(args, stream);
}

template <Format kFormat, bool kWide>
void start_group(const MatmulArgs& args, Stream stream) {
  const int32_t group = args.out[0].weight.group;
  if (group == 32)
    start_size<kFormat, 32, kWide>(args, stream);
  else if (group == 64)
    start_size<kFormat, 64, kWide>(args, stream);
  else
    start_size<kFormat, 128, kWide>(args, stream);
}

}  // namespace

void matmul_quantised_wide(const MatmulArgs& args, Stream stream) {
  const Weight& w = args.out[0].weight;
  if (w.format == Format::q8 && w.wide_scales)
    start_group<Format::q8, true>(args, stream);
  else if (w.format == Format::q8)
    start_group<Format::q8, false>(args, stream);
  else if (w.wide_scales)
    start_group<Format::q4, true>(args, stream);
  else
    start_group<Format::q4, false>(args, stream);
}

}  // namespace paceline::kernels::cuda
