// Products of few rows with q8 and q4 weights, in quantised.cuh's arithmetic.
//
// As matmul_narrow.cuh has it, but all columns that a block needs of the rows lie in shared memory from the beginning.
//
// Bound: bytes of weights over memory bandwidth.
#include <cstdlib>

#include "kernels/cuda/bulk_ring.cuh"
#include "kernels/cuda/matmul_narrow.cuh"
#include "kernels/cuda/quantised_rows.cuh"

namespace paceline::kernels::cuda {
namespace narrow {
namespace {

// Blocks of K that a block of threads stages.
PACELINE_BOTH constexpr int32_t staged_blocks(const Product& p) {
  return p.split > 1 ? p.weight.part : p.weight.depth() / kBlockK;
}

// kSlots: steps on their way per warp. kBlocks: of threads, per multiprocessor.
template <class Step, int kTiles, int kSlots, int kBlocks>
__global__ void __launch_bounds__(kThreads, kBlocks)
    narrow_bulk(const __grid_constant__ MatmulArgs args, int32_t room) {
  constexpr int kRows = kTiles * 8, kWarps = kThreads / 32;
  extern __shared__ __align__(128) char shared[];  // rings, then rows
  __shared__ uint64_t full[kWarps * kSlots];
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
  const BulkRing<Step, kSlots> ring(shared_address(shared) + warp * kSlots * Step::kSharedBytes,
                                    shared_address(full + warp * kSlots),
                                    tile.values + static_cast<int64_t>(begin) * Step::kBytes,
                                    tile.scales + static_cast<int64_t>(begin) * Step::kScaleBytes);
#pragma unroll
  for (int i = 0; i < kSlots; ++i) ring.ask(i, i, steps);
  if (!stack) wait_for_previous();

  const StagedRows staged(shared + kWarps * kSlots * Step::kSharedBytes, room, staged_blocks(*u.product) * kBlockK,
                          Step::kRun);
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
  int slot = 0;
  int32_t turn = 0;
  for (int32_t s = 0; s < steps; ++s) {
    Step step;
    ring.take(step, slot, turn);
    ring.ask(s + kSlots, slot, steps);
    if (++slot == kSlots) {
      slot = 0;
      ++turn;
    }
#pragma unroll
    for (int j = 0; j < kTiles; ++j)
      multiply_step(acc[j], step, bytes[j] + s * kStepK, scales0[j] + s * (Step::kRuns * 8),
                    scales1[j] + s * (Step::kRuns * 8));
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
  finish<kTiles>(args, u, total, sums);
}

template <Format kFormat, int kGroup, bool kWide>
void start_step(const MatmulArgs& args, Stream stream, bool early) {
  using Step = QuantisedStep<kFormat, kGroup, kWide>;
  const int32_t group_rows = args.rows <= 8 ? 8 : 16, room = args.rows < group_rows ? args.rows : group_rows;
  int32_t blocks = 0;
  for (int32_t i = 0; i < args.count; ++i)
    if (staged_blocks(args.out[i]) > blocks) blocks = staged_blocks(args.out[i]);
  const auto row_bytes = static_cast<size_t>(StagedRows::bytes_for(room, blocks * kBlockK, Step::kRun));
  const auto run = [&](auto kernel, int32_t slots) {
    const size_t bytes = row_bytes + static_cast<size_t>(kThreads / 32 * slots * Step::kSharedBytes);
    launch(kernel, dim3(static_cast<unsigned>(args.blocks), static_cast<unsigned>(ceil_div(args.rows, group_rows))),
           dim3(kThreads), bytes, stream, early, args, room);
  };
  // About as many bytes on their way with either format.
  constexpr int kSlots = kFormat == Format::q4 ? 6 : 4;
  static const int variant = std::getenv("PCV") ? std::atoi(std::getenv("PCV")) : 0;
  if constexpr (kGroup == 64 && !kWide) {
    if (variant == 1 && group_rows == 8) return run(narrow_bulk<Step, 1, kSlots - 1, 7>, kSlots - 1);
    if (variant == 2 && group_rows == 8) return run(narrow_bulk<Step, 1, kSlots + 2, 5>, kSlots + 2);
    if (variant == 3 && group_rows == 8) return run(narrow_bulk<Step, 1, 3, 8>, 3);
  }
  if (group_rows == 16)
    run(narrow_bulk<Step, 2, kSlots, 4>, kSlots);
  else
    run(narrow_bulk<Step, 1, kSlots, 6>, kSlots);
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

void matmul_quantised_bulk(MatmulArgs args, Stream stream, bool early) {
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
