// Products of many rows with q8 and q4 weights, in quantised.cuh's arithmetic: a row's bits are those of the narrow
// kernels.
//
//   y [rows, n] = W [n, k] x [rows, k]
// A warp owns two tiles of 16 outputs (gated: one of gate and the same of up) and all rows of its block. Weights go
// straight into registers in the order they are packed in, a step ahead; rows pass through shared memory in stages of
// 128 columns. At the border of a part of K the sums of the part are added to the totals, which lie in shared memory.
//
// Bound: instructions, most of them the scaling of each run's integers. Reached on an H200 with 2048 rows of 31B's
// widths: 300 to 360 TFLOP/s (q8), 290 to 350 (q4); weights through shared memory, too, were a tenth slower.
#pragma once

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/matmul.h"
#include "kernels/cuda/quantised.cuh"
#include "kernels/cuda/wide_place.cuh"

namespace paceline::kernels::cuda {
namespace quantised_wide {
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
  static_assert(kSharedBytes >= kRows * (kWarps * kWarpTiles * kTileOutputs + 4) * 4);
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
  }
};

// Where a tile's weights stream from; a tile that is not there reads the first one's.
template <class Step>
struct TileStream {
  const char* values;
  const char* scales;

  __device__ TileStream(const Weight& w, int32_t tile, int32_t expert) {
    const int lane = threadIdx.x % 32;
    const StepPlace at = step_place(w, tile < w.tiles() ? tile : 0, 0);
    const char* matrix = static_cast<const char*>(w.values) + expert * w.stride;
    values = matrix + at.values + lane * 16;
    scales = matrix + at.scales + lane / 4 * (Step::kScaleWords * 4);
  }
};

// What 64 columns of eight rows give a lane: bytes of row g, {scale, scale * sum} of rows 2t and 2t + 1.
template <int kRuns>
struct RowsHalf {
  uint4 bytes;
  float2 scales[2][kRuns];

  __device__ __forceinline__ void read(uint32_t bytes_at, uint32_t scales_at, int tile, int scale_bytes) {
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
  constexpr bool kSigned = Step::kSigned;
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
  // One tile of rows is settled while the next is multiplied and the one behind that is read.
  using Rows8 = RowsHalf<kRunsHere>;
  Rows8 rows[3];
  int32_t exact[2][kWarpTiles][kRunsHere][4];
  const auto multiply = [&](const uint4& b, int32_t(&to)[kWarpTiles][kRunsHere][4]) {
    int32_t first[kWarpTiles][4];
#pragma unroll
    for (int m = 0; m < kWarpTiles; ++m)
      if constexpr (kRunsHere == 1)
        mma_bytes<kSigned>(first[m], a[m][0], b.x, b.y, zero);
      else
        mma_bytes<kSigned>(to[m][0], a[m][0], b.x, b.y, zero);
#pragma unroll
    for (int m = 0; m < kWarpTiles; ++m)
      if constexpr (kRunsHere == 1)
        mma_bytes<kSigned>(to[m][0], a[m][1], b.z, b.w, first[m]);
      else
        mma_bytes<kSigned>(to[m][kRunsHere - 1], a[m][1], b.z, b.w, zero);
  };
  rows[0].read(bytes, row_scales, 0, kRowScaleBytes);
  rows[1].read(bytes, row_scales, 1, kRowScaleBytes);
  multiply(rows[0].bytes, exact[0]);
#pragma unroll
  for (int j = 0; j < kRowTiles; ++j) {
    if (j + 2 < kRowTiles) rows[(j + 2) % 3].read(bytes, row_scales, j + 2, kRowScaleBytes);
    if (j + 1 < kRowTiles) multiply(rows[(j + 1) % 3].bytes, exact[(j + 1) % 2]);
#pragma unroll
    for (int r = 0; r < kRunsHere; ++r) {
      const RunRows x = rows[j % 3].run(r);
#pragma unroll
      for (int m = 0; m < kWarpTiles; ++m) settle<kSigned>(sums[m][j], exact[j % 2][m][r], w[m][r], x);
    }
  }
}

// The same where runs are of 16 columns.
template <class Step, int kRowTiles>
__device__ __forceinline__ void multiply_half_by_16(float (&sums)[kWarpTiles][kRowTiles][4],
                                                    const Step (&step)[kWarpTiles], int half, uint32_t bytes,
                                                    uint32_t row_scales) {
  constexpr int kRowScaleBytes = Step::kRuns * 8;
  const int32_t zero[4] = {kIntegerBits, kIntegerBits, kIntegerBits, kIntegerBits};
#pragma unroll
  for (int m = 0; m < kWarpTiles; ++m) {
    uint32_t a[2][4];
    RunScales w[4];
    step[m].fragment(half * 2, a[0]);
    step[m].fragment(half * 2 + 1, a[1]);
#pragma unroll
    for (int r = 0; r < 4; ++r) w[r] = step[m].run_scales(half * 4 + r);
#pragma unroll
    for (int j = 0; j < kRowTiles; ++j) {
      RowsHalf<4> rows;
      rows.read(bytes, row_scales, j, kRowScaleBytes);
      const uint32_t b[4] = {rows.bytes.x, rows.bytes.y, rows.bytes.z, rows.bytes.w};
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const uint32_t two[2] = {a[r / 2][r % 2 * 2], a[r / 2][r % 2 * 2 + 1]};
        int32_t exact[4];
        mma_bytes<Step::kSigned>(exact, two, b[r], zero);
        settle<Step::kSigned>(sums[m][j], exact, w[r], rows.run(r));
      }
    }
  }
}

// Through shared memory, where nothing else is needed any more.
template <int kWarps, int kRowTiles>
__device__ void write_sums(const WidePlace& at, const float (&sums)[kWarpTiles][kRowTiles][4], float* shared) {
  constexpr int kOutputs = kWarps * kTileOutputs, kRows = kRowTiles * 8, kThreads = kWarps * 32;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const bool gated = at.product->gated();
  const int stride = gated ? kOutputs + 4 : kWarpTiles * kOutputs + 4;
  __syncthreads();
#pragma unroll
  for (int j = 0; j < kRowTiles; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float* to = shared + (j * 8 + t * 2 + i % 2) * stride + g + i / 2 * 8;
      if (gated) {
        to[warp * kTileOutputs] = gate(at.product->silu, sums[0][j][i]) * sums[1][j][i];
      } else {
        to[warp * 2 * kTileOutputs] = sums[0][j][i];
        to[warp * 2 * kTileOutputs + kTileOutputs] = sums[1][j][i];
      }
    }
  __syncthreads();
  if (gated)
    write_rows<kThreads, kRows, kOutputs, kOutputs + 4, 0>(at, shared);
  else
    write_rows<kThreads, kRows, kWarpTiles * kOutputs, kWarpTiles * kOutputs + 4, 0>(at, shared);
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
  const TileStream<Step> tiles[kWarpTiles] = {
      {p.weight, first_tile, at.expert}, {p.gated() ? p.up : p.weight, first_tile + (p.gated() ? 0 : 1), at.expert}};
  const int32_t steps = p.weight.depth() / kStepK, part = p.weight.part / 2;
  const uint32_t base = shared_address(shared);
  const StageCopy<Step, kWarps, kRowTiles> rows(args, at, base);
  const auto stage = [&](int32_t step, int slot) {
    rows.stage(step, slot, steps);
    commit_copies();
  };
  Step step[kWarpTiles];
#pragma unroll
  for (int m = 0; m < kWarpTiles; ++m) step[m].load(tiles[m].values, tiles[m].scales, 0);
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) stage(s, s);

  float sums[kWarpTiles][kRowTiles][4] = {};
  auto* totals = reinterpret_cast<float4*>(shared + S::kTotals) + threadIdx.x;
  int slot = 0;
  int32_t border = part;
  for (int32_t s = 0; s < steps; ++s) {
    wait_copies<kStages - 2>();
    __syncthreads();
    // The slot of the step before: every warp is done with it.
    stage(s + kStages - 1, slot == 0 ? kStages - 1 : slot - 1);
    const uint32_t here = base + slot * S::kStageBytes;
    const uint32_t bytes = here + g * kStepK + t * 16;
    const uint32_t row_scales = here + S::kScalesAt + t * 2 * S::kRowScaleBytes;
    // The next step's weights, while this one's are multiplied.
    Step next[kWarpTiles];
#pragma unroll
    for (int m = 0; m < kWarpTiles; ++m) next[m].load(tiles[m].values, tiles[m].scales, s + 1 < steps ? s + 1 : s);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const uint32_t half_bytes = bytes + (half ^ (g & 1)) * 64, scales = row_scales + half * (S::kRowScaleBytes / 2);
      if constexpr (Step::kRun == 16)
        multiply_half_by_16(sums, step, half, half_bytes, scales);
      else
        multiply_half(sums, step, half, half_bytes, scales);
    }
#pragma unroll
    for (int m = 0; m < kWarpTiles; ++m) step[m] = next[m];
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
  write_sums<kWarps>(at, sums, reinterpret_cast<float*>(shared));
}

template <class Step, int kWarps, int kRowTiles, int kBlocks>
void start(MatmulArgs args, Stream stream) {
  using S = Shape<Step, kWarps, kRowTiles>;
  lay_out(args, kWarps * kTileOutputs * kWarpTiles);
  const auto kernel = wide_quantised<Step, kWarps, kRowTiles, kBlocks>;
  launch(kernel, dim3(static_cast<unsigned>(row_blocks(args, S::kRows)), static_cast<unsigned>(args.blocks)),
         dim3(S::kThreads), S::kSharedBytes, stream, true, args);
}

template <class Step>
void start_step(const MatmulArgs& args, Stream stream) {
  start<Step, 4, 8, 2>(args, stream);
}

}  // namespace
}  // namespace quantised_wide
}  // namespace paceline::kernels::cuda
