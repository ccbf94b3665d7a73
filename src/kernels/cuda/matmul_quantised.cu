// Products of few rows with q8 and q4 weights, in quantised.cuh's arithmetic.
//
// As matmul_narrow.cuh has it, but a warp takes two tiles of 16 outputs at a time (gated: one of gate and the same of
// up), so that a block's unit is 128 outputs, or 64 gated ones. Weights pass through shared memory (step_ring.cuh).
// Very few rows may come as float32: every block makes bytes of what it needs, which is less than a launch takes.
//
// Bound: bytes of weights over memory bandwidth; behind it what a block does before its first and after its last step.
#include <algorithm>

#include "kernels/cuda/matmul_narrow.cuh"
#include "kernels/cuda/quantised_rows.cuh"
#include "kernels/cuda/step_ring.cuh"

namespace paceline::kernels::cuda {
namespace narrow {
namespace {

constexpr int kWarps = kThreads / 32;
constexpr int kWarpTiles = 2;
static_assert(kWarps * kWarpTiles * kTileOutputs == kQuantisedUnitOutputs);

// How a block uses its shared memory: rings of all warps, then so many columns of so many rows.
struct Staging {
  int32_t slots = 0, rows = 0, columns = 0, filler = 0;
};

// Where the warp's tiles begin, at a step of K; a tile that is not there is the first one.
template <class Step>
__device__ __forceinline__ TileStart tile_start(const Unit& u, int warp, int m, int32_t step) {
  const bool gated = u.product->gated();
  const Weight& w = gated && m == 1 ? u.product->up : u.product->weight;
  const int32_t tile = gated ? u.unit * kWarps + warp : (u.unit * kWarps + warp) * kWarpTiles + m;
  const int64_t at = static_cast<int64_t>(tile < w.tiles() ? tile : 0) * (w.depth() / kStepK) + step;
  const int64_t expert = u.expert >= 0 ? u.expert : 0;
  return {static_cast<const char*>(w.values) + expert * w.stride_values + at * Step::kBytes,
          static_cast<const char*>(w.scales) + expert * w.stride_scales + at * Step::kScaleBytes};
}

template <class Step, int kTiles, int kBlocks>
__global__ void __launch_bounds__(kThreads, kBlocks)
    narrow_quantised(const __grid_constant__ MatmulArgs args, const __grid_constant__ Staging staging) {
  constexpr int kRows = kTiles * 8;
  using Ring = StepRing<Step, kWarpTiles>;
  extern __shared__ __align__(128) char shared[];
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
  // In steps; a part is a whole number of them.
  const int32_t part = w.part / 2;
  const int32_t begin = u.part * part, end = min(w.depth() / kStepK, begin + u.parts_here * part);
  const TileStart from[kWarpTiles] = {tile_start<Step>(u, warp, 0, begin), tile_start<Step>(u, warp, 1, begin)};
  Ring ring(shared_address(shared), warp, kWarps, staging.slots, from, end - begin);
  if (!stack) wait_for_previous();

  const StagedRows staged(shared + Ring::bytes_for(kWarps, staging.slots), staging.rows, staging.columns, Step::kRun);
  const char* bytes[kTiles];
  const char* scales0[kTiles];
  const char* scales1[kTiles];
#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
    bytes[j] = staged.bytes_of(j * 8 + g) + t * 16;
    scales0[j] = staged.scales_of(j * 8 + t * 2);
    scales1[j] = staged.scales_of(j * 8 + t * 2 + 1);
  }
  float total[kTiles][kWarpTiles][4] = {};
  // As many whole parts at a time as there is room for.
  const int32_t span = u.parts_here > 1 ? staging.columns / kStepK / part * part : part;
  for (int32_t span_begin = begin; span_begin < end; span_begin += span) {
    const int32_t span_end = min(end, span_begin + span);
    if (span_begin != begin) __syncthreads();
    const int32_t rows = min(staging.rows, u.rows - u.row_base);
    const int32_t first_col = span_begin * kStepK, columns = (span_end - span_begin) * kStepK;
    const auto number = [&](int32_t r) { return row_number(args, u, u.row_base + r); };
    if (args.x.scales != nullptr)
      stage_bytes<Step::kRun, kThreads>(args.x, staged, rows, first_col, columns, number);
    else
      stage_floats<Step::kGroup, kThreads>(args.x, w.cols, staged, rows, first_col, columns, number);
    __syncthreads();
    for (int32_t part_begin = span_begin; part_begin < span_end; part_begin += part) {
      const int32_t part_end = min(span_end, part_begin + part);
      float acc[kTiles][kWarpTiles][4] = {};
      for (int32_t s = part_begin; s < part_end; ++s) {
        Step step[kWarpTiles];
        ring.take(step);
        const int32_t at = s - span_begin;
#pragma unroll
        for (int j = 0; j < kTiles; ++j)
          multiply_step(acc[j], step, bytes[j] + at * kStepK, scales0[j] + at * (Step::kRuns * 8),
                        scales1[j] + at * (Step::kRuns * 8));
      }
#pragma unroll
      for (int j = 0; j < kTiles; ++j)
#pragma unroll
        for (int m = 0; m < kWarpTiles; ++m)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            total[j][m][i] = part_begin == begin ? acc[j][m][i] : total[j][m][i] + acc[j][m][i];
    }
  }
  // Sums take the place of the rings: every warp has had all of its own.
  __syncthreads();
  auto* sums = reinterpret_cast<float*>(shared);
  const int32_t first = u.product->gated() ? warp * kTileOutputs : warp * kWarpTiles * kTileOutputs;
  const int32_t apart = u.product->gated() ? kQuantisedUnitOutputs / 2 : kTileOutputs;
#pragma unroll
  for (int j = 0; j < kTiles; ++j)
#pragma unroll
    for (int m = 0; m < kWarpTiles; ++m)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        sums[(j * 8 + t * 2 + i % 2) * padded_outputs(kQuantisedUnitOutputs) + first + m * apart + g + i / 2 * 8] =
            total[j][m][i];
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
// Rows of which all parts are wanted get so much of a block's shared memory; parts are staged in turn otherwise.
constexpr int32_t kRowsBytes = 8 * 1024;
constexpr int32_t kFewestSlots = 2, kWantedSlots = 4;

template <Format kFormat, int kGroup, bool kWide>
void start_step(const MatmulArgs& args, Stream stream, bool early) {
  using Step = QuantisedStep<kFormat, kGroup, kWide>;
  using Ring = StepRing<Step, kWarpTiles>;
  const int32_t group_rows = args.rows <= 8 ? 8 : 16;
  static_assert(Ring::bytes_for(kWarps, kFewestSlots) >= 16 * padded_outputs(kQuantisedUnitOutputs) * 4);
  Staging staging;
  staging.rows = std::min(args.rows, group_rows);
  int32_t steps = 0;
  for (int32_t i = 0; i < args.count; ++i) {
    const Product& p = args.out[i];
    const int32_t part = p.weight.part * kBlockK, parts = p.weight.parts();
    const int32_t at_once = p.split > 1 ? 1 : std::clamp(kRowsBytes / (staging.rows * part), 1, parts);
    staging.columns = std::max(staging.columns, at_once * part);
    steps = std::max(steps, p.split > 1 ? p.weight.part / 2 : p.weight.depth() / kStepK);
  }
  // As many blocks of threads on a multiprocessor as leave each enough to have under way.
  const int32_t rows = StagedRows::bytes_for(staging.rows, staging.columns, Step::kRun);
  for (int32_t blocks = 4; blocks > 0; --blocks) {
    const int32_t left = shared_of_multiprocessor() / blocks - kOwnShared - rows;
    staging.slots = std::max(kFewestSlots, std::min(steps, left / Ring::bytes_for(kWarps, 1)));
    if (staging.slots >= std::min(steps, kWantedSlots)) break;
  }
  const auto run = [&](auto kernel) {
    launch(kernel, dim3(static_cast<unsigned>(args.blocks), static_cast<unsigned>(ceil_div(args.rows, group_rows))),
           dim3(kThreads), static_cast<size_t>(Ring::bytes_for(kWarps, staging.slots) + rows), stream, early, args,
           staging);
  };
  if (group_rows == 8)
    run(narrow_quantised<Step, 1, 5>);
  else
    run(narrow_quantised<Step, 2, 4>);
}

template <Format kFormat, bool kWide>
void start_group(const MatmulArgs& args, Stream stream, bool early) {
  const int32_t group = args.out[0].weight.group;
  if (group == 32)
    start_step<kFormat, 32, kWide>(args, stream, early);
  else if (group == 64)
    start_step<kFormat, 64, kWide>(args, stream, early);
  else
    start_step<kFormat, 128, kWide>(args, stream, early);
}

}  // namespace
}  // namespace narrow

void matmul_quantised(MatmulArgs args, Stream stream, bool early) {
  constexpr int32_t kPlenty = 264;  // two for each multiprocessor of a large device
  const int32_t matrices = args.experts.plan != nullptr ? args.experts.most_touched : 1;
  args.blocks = 0;
  for (int32_t i = 0; i < args.count; ++i) {
    Product& p = args.out[i];
    p.first_block = args.blocks;
    p.units = ceil_div(p.weight.rows, p.gated() ? kQuantisedUnitOutputs / 2 : kQuantisedUnitOutputs);
    // Parts of a unit go to blocks of their own, unless there are plenty without that.
    p.split = p.units * matrices >= kPlenty ? 1 : p.weight.parts();
    args.blocks += p.units * matrices * p.split;
  }
  const Weight& w = args.out[0].weight;
  if (w.format == Format::q8 && w.wide_scales)
    narrow::start_group<Format::q8, true>(args, stream, early);
  else if (w.format == Format::q8)
    narrow::start_group<Format::q8, false>(args, stream, early);
  else if (w.wide_scales)
    narrow::start_group<Format::q4, true>(args, stream, early);
  else
    narrow::start_group<Format::q4, false>(args, stream, early);
}

}  // namespace paceline::kernels::cuda
