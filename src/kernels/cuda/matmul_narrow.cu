// Products of few rows with bf16 weights. Weights are the fixed operand of the tensor cores and rows the narrow one (8
// at a time).
//
// Bound: bytes of weights over memory bandwidth. Share reached on an H200, 31B's shapes, 1 row (8 rows): 75 to 90 % (69
// to 90 %); the output's product, which is read once, 96 % (94 %). What is missing is where launches meet: the last sums,
// and the rows that the next one waits for.
#include "kernels/cuda/matmul_narrow.cuh"

namespace paceline::kernels::cuda {
namespace narrow {
namespace {

constexpr int kAhead = 8;  // fragments on their way per warp

// kBlocks: how many run on a multiprocessor at once.
template <int kTiles, int kBlocks>
__global__ void __launch_bounds__(kThreads, kBlocks) narrow_bf16(const __grid_constant__ MatmulArgs args) {
  constexpr int kRows = kTiles * 8;
  extern __shared__ __align__(16) char staged[];
  __shared__ __align__(16) float sums[kRows * kOutPad];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  Unit u;
  find_unit(args, kRows, u);
  const bool stack = args.experts.plan != nullptr && !u.product->dense;
  // A plan that the kernel in front makes: whoever comes behind this one may then take it as known.
  const bool plans = args.experts.plan != nullptr && !args.experts.known;
  if (!plans) let_next_start();
  if (stack) {
    if (plans) {
      wait_for_previous();
      let_next_start();
    }
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
  if (!stack || !plans) wait_for_previous();
  if (!stack && plans) let_next_start();

  float total[kTiles][4] = {};
  const int32_t stride = w.part * kBlockK * 2 + 16;
  const char* mine = staged + g * stride + t * 4;
  for (int32_t part_begin = begin; part_begin < end; part_begin += part_steps) {
    const int32_t part_end = min(end, part_begin + part_steps);
    if (part_begin != begin) __syncthreads();
    stage_rows<kRows>(args, u, u.x->stride * 2, part_begin * 32, (part_end - part_begin) * 32, shared_address(staged),
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

template <int kTiles>
void start_bf16(const MatmulArgs& args, int32_t groups, int32_t part, Stream stream, bool early) {
  const size_t bytes = size_t{kTiles} * 8 * static_cast<size_t>(part * kBlockK * 2 + 16);
  constexpr int kBlocks = kTiles == 1 ? 5 : 4;
  // Measured: gated products gain by one more block, others lose.
  if (args.out[0].gated())
    start(narrow_bf16<kTiles, kBlocks + 1>, args, groups, bytes, stream, early);
  else
    start(narrow_bf16<kTiles, kBlocks>, args, groups, bytes, stream, early);
}

}  // namespace
}  // namespace narrow

void matmul_narrow(MatmulArgs args, Stream stream, bool early) {
  const int32_t group_rows = args.rows <= 8 ? 8 : 16;
  const int32_t groups = ceil_div(args.rows, group_rows);
  int32_t part = 0;
  args.blocks = 0;
  for (int32_t i = 0; i < args.count; ++i) {
    Product& p = args.out[i];
    p.first_block = args.blocks;
    p.units = ceil_div(p.weight.rows, p.gated() ? kUnitOutputs / 2 : kUnitOutputs);
    const int32_t matrices = args.experts.plan != nullptr && !p.dense ? args.experts.most_touched : 1;
    // Parts of a unit go to blocks of their own unless there are plenty of blocks without that.
    p.split = p.units * matrices >= 2048 || groups > 4 ? 1 : p.weight.parts();
    args.blocks += p.units * matrices * p.split;
    if (p.weight.part > part) part = p.weight.part;
  }
  if (group_rows == 8)
    narrow::start_bf16<1>(args, groups, part, stream, early);
  else
    narrow::start_bf16<2>(args, groups, part, stream, early);
}

}  // namespace paceline::kernels::cuda
