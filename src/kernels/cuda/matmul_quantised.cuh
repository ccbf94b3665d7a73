// Products of few rows with q8 and q4 weights, in quantised.cuh's arithmetic.
//
// As matmul_narrow.cuh has it, but a warp takes two tiles of 16 outputs at a time, so that a block's unit is 128
// outputs, or 64 gated ones. Weights pass through shared memory (weight_ring.cuh). Very few rows may come as float32:
// every block makes bytes of what it needs, which is less than a launch takes. More than kNarrowRows go in groups, each
// of which reads the weights.
//
// Bound: bytes of weights over memory bandwidth; behind it what a block does before its first and after its last step.
#pragma once

#include <algorithm>

#include "kernels/cuda/matmul_narrow.cuh"
#include "kernels/cuda/quantised_rows.cuh"
#include "kernels/cuda/weight_ring.cuh"

namespace paceline::kernels::cuda {
namespace narrow {
namespace {

constexpr int kWarps = kThreads / 32;
constexpr int kWarpTiles = 2;
static_assert(kWarps * kWarpTiles * kTileOutputs == kQuantisedUnitOutputs);
// The most blocks on a multiprocessor, with one tile of 8 rows and with two.
constexpr int kBlocks = 4, kBlocksOfTwo = 3;

// A slot has a step of both tiles: values, then scales.
template <class Step>
using Ring = WeightRing<Step::kPairBytes>;

// How a block uses its shared memory: rings of all warps, then so many columns of so many rows, once or twice.
struct Staging {
  int32_t slots = 0, rows = 0, columns = 0, buffers = 1;

  PACELINE_BOTH int32_t rows_bytes(int32_t run) const { return StagedRows::bytes_for(rows, columns, run); }
};

// Where the warp's two tiles begin, and whether there is one: two in a row, or where they are gated, two of gate for
// half of the warps and the same two of up for the others.
struct PairStart {
  const char* from;
  bool present;
};

__device__ __forceinline__ PairStart pair_start(const Unit& u, int warp, int32_t step) {
  const bool gated = u.product->gated();
  const Weight& w = gated && warp >= kWarps / 2 ? u.product->up : u.product->weight;
  const int32_t tile = kWarpTiles * (gated ? u.unit * (kWarps / 2) + warp % (kWarps / 2) : u.unit * kWarps + warp);
  const bool present = tile < w.tiles();
  const int64_t expert = u.expert >= 0 ? u.expert : 0;
  return {static_cast<const char*>(w.values) + expert * w.stride + step_place(w, present ? tile : 0, step).values,
          present};
}

// kTiles: of 8 rows. kOne: there is one row, which takes fewer instructions.
template <class Step, int kTiles, bool kOne>
__global__ void __launch_bounds__(kThreads, kTiles == 1 ? kBlocks : kBlocksOfTwo)
    narrow_quantised(const __grid_constant__ MatmulArgs args, const __grid_constant__ Staging staging) {
  constexpr int kRows = kTiles * 8;
  extern __shared__ __align__(128) char shared[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  // What is left for the next kernel, that one alone may find.
  const bool leaves = args.out[0].left != nullptr;
  if (!leaves) let_next_start();
  Unit u;
  find_unit(args, kRows, u);
  const bool stack = args.experts.plan != nullptr;
  if (stack) {
    wait_for_previous();
    if (!find_expert(args, u)) return;
  }
  if (u.row_base >= u.rows) return;
  const Weight& w = u.product->weight;
  __shared__ uint64_t row_barriers[2];
  FilledBuffers<2> buffers(row_barriers);
  // In steps; a part is a whole number of them.
  const int32_t part = w.part / 2;
  const int32_t begin = u.part * part, end = min(w.depth() / kStepK, begin + u.parts_here * part);
  const PairStart start = pair_start(u, warp, begin);
  __shared__ typename Ring<Step>::Beginning beginning;
  Ring<Step> ring(shared_address(shared), staging.slots, start.from, end - begin, start.present, beginning);
  char* const rows_at = shared + Ring<Step>::bytes_for(staging.slots);
  const int32_t rows_here = min(staging.rows, u.rows - u.row_base), span = staging.columns / kStepK;
  const auto stage = [&](int32_t from, int32_t buffer) {
    const StagedRows to(rows_at + buffer * staging.rows_bytes(Step::kRun), staging.rows, staging.columns, Step::kRun);
    const int32_t columns = (min(end, from + span) - from) * kStepK;
    const auto number = [&](int32_t r) { return row_number(args, u, u.row_base + r); };
    if (args.x.scales != nullptr)
      stage_bytes<Step::kRun, kThreads>(args.x, to, rows_here, from * kStepK, columns, number, buffers.barrier(buffer));
    else
      stage_floats<Step::kGroup, kThreads>(args.x, w.cols, to, rows_here, from * kStepK, columns, number);
  };
  // Of each tile of outputs, g and g + 8: of rows 2t and 2t + 1, or of the only one.
  constexpr int kSums = kOne ? 2 : 4;
  float total[kTiles][kWarpTiles][kSums] = {}, acc[kTiles][kWarpTiles][kSums] = {};
  OneRow one_row;
  int32_t border = begin + part;
  // Bytes are copied by few threads, floats are read by all.
  const bool copied = args.x.scales != nullptr;
  ring.fill(beginning, stack || blockIdx.x >= kPlaces, [&] {
    if (leaves) let_next_start();
    if (copied) stage(begin, 0);
  });
  if (!copied) stage(begin, 0);
  for (int32_t from = begin, buffer = 0; from < end; from += span, buffer ^= 1) {
    if (copied) (void)buffers.next();
    __syncthreads();
    if (from + span < end) stage(from + span, buffer ^ 1);
    const StagedRows staged(rows_at + buffer * staging.rows_bytes(Step::kRun), staging.rows, staging.columns,
                            Step::kRun);
    const char* bytes[kTiles];
    const char* scales0[kTiles];
    const char* scales1[kTiles];
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
      bytes[j] = staged.bytes_of(j * 8 + g) + t * 16;
      scales0[j] = staged.scales_of(j * 8 + t * 2);
      scales1[j] = staged.scales_of(j * 8 + t * 2 + 1);
    }
    const int32_t to = min(end, from + span);
    for (int32_t s = from; s < to; ++s) {
      Step step[kWarpTiles];
      const uint32_t at = ring.next();
#pragma unroll
      for (int m = 0; m < kWarpTiles; ++m)
        step[m].read(at + m * Step::kBytes + lane * 16,
                     at + kWarpTiles * Step::kBytes + m * Step::kScaleBytes + lane / 4 * (Step::kScaleWords * 4));
#pragma unroll
      for (int j = 0; j < kTiles; ++j) {
        if constexpr (kOne)
          multiply_one_row(acc[j], step, one_row, bytes[j], scales0[j]);
        else
          multiply_step(acc[j], step, bytes[j], scales0[j], scales1[j]);
        bytes[j] += kStepK;
        scales0[j] += Step::kRuns * 8;
        scales1[j] += Step::kRuns * 8;
      }
      ring.done();
      // Unless a part ends.
      if (s + 1 < border && s + 1 < end) continue;
#pragma unroll
      for (int j = 0; j < kTiles; ++j)
#pragma unroll
        for (int m = 0; m < kWarpTiles; ++m)
#pragma unroll
          for (int i = 0; i < kSums; ++i) {
            total[j][m][i] = border == begin + part ? acc[j][m][i] : total[j][m][i] + acc[j][m][i];
            acc[j][m][i] = 0;
          }
      border += part;
    }
  }
  // Sums take the place of the rings: every warp has had all of its own.
  __syncthreads();
  auto* sums = reinterpret_cast<float*>(shared);
#pragma unroll
  for (int j = 0; j < kTiles; ++j)
#pragma unroll
    for (int m = 0; m < kWarpTiles; ++m)
#pragma unroll
      for (int i = 0; i < kSums; ++i) {
        const int32_t row = kOne ? t : j * 8 + t * 2 + i % 2, high = kOne ? i : i / 2;
        if (!kOne || row == 0)
          sums[row * padded_outputs(kQuantisedUnitOutputs) + (warp * kWarpTiles + m) * kTileOutputs + g + high * 8] =
              total[j][m][i];
      }
  __syncthreads();
  finish_sums<kRows, kQuantisedUnitOutputs>(args, u, sums);
}

// Of a multiprocessor, in bytes; and what every block has of it besides.
int32_t shared_of_multiprocessor() {
  static const int32_t bytes = [] {
    int device = 0, found = 0;
    (void)cudaGetDevice(&device);
    (void)cudaDeviceGetAttribute(&found, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device);
    return static_cast<int32_t>(found);
  }();
  return bytes;
}
constexpr int32_t kOwnShared = 1024 + 128;
constexpr int32_t kFewestSlots = 2, kMostSlots = 6;
// Of one buffer of rows, about.
constexpr int32_t kRowsBytes = 8 * 1024;

// args are laid out.
template <class Step>
void start_step(const MatmulArgs& args, Stream stream, bool early) {
  const int32_t group_rows = args.rows <= 8 ? 8 : 16;
  static_assert(Ring<Step>::bytes_for(kFewestSlots) >= 16 * padded_outputs(kQuantisedUnitOutputs) * 4);
  int32_t steps = 0;
  for (int32_t i = 0; i < args.count; ++i) {
    const Product& p = args.out[i];
    steps = std::max(steps, p.split > 1 ? p.weight.part / 2 : p.weight.depth() / kStepK);
  }
  // All columns of a block at once, or some and the next ones meanwhile.
  Staging staging;
  staging.rows = std::min(args.rows, group_rows);
  staging.columns = steps * kStepK;
  if (staging.rows * staging.columns > 2 * kRowsBytes) {
    staging.columns = kRowsBytes / staging.rows / kStepK * kStepK;
    staging.buffers = 2;
  }
  const int32_t rows = staging.buffers * staging.rows_bytes(Step::kRun);
  const int32_t blocks = group_rows == 8 ? kBlocks : kBlocksOfTwo;
  // All of what a block may have: see matmul_narrow.cu.
  const int32_t bytes = shared_of_multiprocessor() / blocks - kOwnShared, left = bytes - rows;
  staging.slots = std::clamp(std::min(left / Ring<Step>::bytes_for(1), steps), kFewestSlots, kMostSlots);
  launch(args.rows == 1    ? narrow_quantised<Step, 1, true>
         : group_rows == 8 ? narrow_quantised<Step, 1, false>
                           : narrow_quantised<Step, 2, false>,
         dim3(static_cast<unsigned>(args.blocks), static_cast<unsigned>(ceil_div(args.rows, group_rows))),
         dim3(kThreads), static_cast<size_t>(std::max(bytes, Ring<Step>::bytes_for(staging.slots) + rows)), stream,
         early, args, staging);
}

}  // namespace
}  // namespace narrow
}  // namespace paceline::kernels::cuda
