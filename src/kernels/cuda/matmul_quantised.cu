// Products of few rows with q8 and q4 weights, in quantised.cuh's arithmetic.
//
// As matmul_narrow.cuh has it, but all columns that a block needs of the rows lie in shared memory from the beginning.
//
// Bound: bytes of weights over memory bandwidth; behind it what a block does before its first and after its last step.
// Share reached on an H200, 31B's shapes, 1 row (8 rows), with rows_to_bytes in front: q8 62 to 89 % (51 to 81 %), q4
// 45 to 71 % (36 to 57 %). Tried and not better: rows made bytes by the blocks themselves, one stream of tiles per warp
// (better from 8 rows on, worse with one), weights through bulk copies into shared memory.
#include "kernels/cuda/matmul_narrow.cuh"
#include "kernels/cuda/quantised_rows.cuh"

namespace paceline::kernels::cuda {
namespace narrow {
namespace {

// Blocks of K that a block of threads stages.
PACELINE_BOTH constexpr int32_t staged_blocks(const Product& p) {
  return p.split > 1 ? p.weight.part : p.weight.depth() / kBlockK;
}

// kAhead: steps on their way per warp. kBlocks: of threads, per multiprocessor.
template <class Step, int kTiles, int kAhead, int kBlocks>
__global__ void __launch_bounds__(kThreads, kBlocks)
    narrow_quantised(const __grid_constant__ MatmulArgs args, int32_t room) {
  constexpr int kRows = kTiles * 8;
  extern __shared__ __align__(16) char shared[];
  __shared__ __align__(16) float sums[kRows * kOutPad];
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
  // In steps; a part is a whole number of them.
  const int32_t part = w.part / 2;
  const int32_t begin = u.part * part, end = min(w.depth() / kStepK, begin + u.parts_here * part);
  const int32_t steps = tile.present ? end - begin : 0;
  const char* stream = tile.values + static_cast<int64_t>(begin) * Step::kBytes + lane * 16;
  const char* scale_stream = tile.scales + static_cast<int64_t>(begin) * Step::kScaleBytes + g * Step::kScaleWords * 4;

  Step ring[kAhead];
#pragma unroll
  for (int i = 0; i < kAhead; ++i)
    if (i < steps) ring[i].load(stream, scale_stream, i);
  if (!stack) wait_for_previous();

  const StagedRows staged(shared, room, staged_blocks(*u.product) * kBlockK, Step::kRun);
  stage_bytes<Step::kRun, kThreads>(args.x, staged, min(room, u.rows - u.row_base), begin * kStepK,
                                    (end - begin) * kStepK,
                                    [&](int32_t r) { return row_number(args, u, u.row_base + r); });
  __syncthreads();

  float total[kTiles][4] = {}, acc[kTiles][4] = {};
  const char* bytes[kTiles];
  const char* scales0[kTiles];
  const char* scales1[kTiles];
#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
    bytes[j] = staged.bytes_of(j * 8 + g) + t * 16;
    scales0[j] = staged.scales_of(j * 8 + t * 2);
    scales1[j] = staged.scales_of(j * 8 + t * 2 + 1);
  }
  int32_t border = min(part, steps);
  for (int32_t outer = 0; outer < steps; outer += kAhead) {
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int32_t s = outer + i;
      if (s >= steps) break;
#pragma unroll
      for (int j = 0; j < kTiles; ++j)
        multiply_step(acc[j], ring[i], bytes[j] + s * kStepK, scales0[j] + s * (Step::kRuns * 8),
                      scales1[j] + s * (Step::kRuns * 8));
      if (s + kAhead < steps) ring[i].load(stream, scale_stream, s + kAhead);
      if (s + 1 < border) continue;
        // A part ends.
#pragma unroll
      for (int j = 0; j < kTiles; ++j)
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          total[j][k] = s < part ? acc[j][k] : total[j][k] + acc[j][k];
          acc[j][k] = 0;
        }
      border = min(border + part, steps);
    }
  }
  finish<kTiles>(args, u, total, sums);
}

template <Format kFormat, int kGroup, bool kWide>
void start_step(const MatmulArgs& args, Stream stream, bool early) {
  using Step = QuantisedStep<kFormat, kGroup, kWide>;
  const int32_t group_rows = args.rows <= 8 ? 8 : 16, room = args.rows < group_rows ? args.rows : group_rows;
  int32_t blocks = 0;
  for (int32_t i = 0; i < args.count; ++i)
    if (staged_blocks(args.out[i]) > blocks) blocks = staged_blocks(args.out[i]);
  const auto bytes = static_cast<size_t>(StagedRows::bytes_for(room, blocks * kBlockK, Step::kRun));
  const auto run = [&](auto kernel) {
    launch(kernel, dim3(static_cast<unsigned>(args.blocks), static_cast<unsigned>(ceil_div(args.rows, group_rows))),
           dim3(kThreads), bytes, stream, early, args, room);
  };
  // Steps on their way per warp as registers allow.
  if (group_rows == 16)
    run(narrow_quantised<Step, 2, 2, 4>);
  else if constexpr (kFormat == Format::q4)
    run(narrow_quantised<Step, 1, 3, 5>);
  else
    run(narrow_quantised<Step, 1, 2, 5>);
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
  const int32_t groups = ceil_div(args.rows, args.rows <= 8 ? 8 : 16), room = args.rows < 16 ? args.rows : 16;
  const int32_t matrices = args.experts.plan != nullptr ? args.experts.most_touched : 1;
  args.blocks = 0;
  for (int32_t i = 0; i < args.count; ++i) {
    Product& p = args.out[i];
    p.first_block = args.blocks;
    p.units = ceil_div(p.weight.rows, p.gated() ? kUnitOutputs / 2 : kUnitOutputs);
    // Parts of a unit go to blocks of their own, unless there are plenty without that and all columns of the rows have
    // room in shared memory.
    const bool plenty = p.units * matrices * groups >= 2048 && room * p.weight.depth() <= 150 * 1024;
    p.split = plenty ? 1 : p.weight.parts();
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
