// Products of few rows with q8 and q4 weights, in quantised.cuh's arithmetic.
//
// Bound: bytes of weights over memory bandwidth.

#include "kernels/cuda/matmul_narrow.cuh"
#include "kernels/cuda/quantised.cuh"

namespace paceline::kernels::cuda {
namespace narrow {
namespace {

// A row's part of K in shared memory: its bytes, eight rows 16 bytes apart in every other quarter of the banks, and
// behind all rows' bytes {scale, scale * sum} of each run.
PACELINE_BOTH constexpr int32_t bytes_stride(int32_t part) { return part * kBlockK + 64; }
PACELINE_BOTH constexpr int32_t scales_stride(int32_t part, int32_t run) { return part * kBlockK / run * 8 + 16; }

// Copies what [first_block, last_block) has of the unit's rows. Rows that are not there keep what the memory held: the
// tensor cores' columns do not mix, and theirs are never written out.
template <int kRows, int kRun>
__device__ __forceinline__ void stage_bytes(const MatmulArgs& args, const Unit& u, int32_t first_block,
                                            int32_t last_block, char* staged, int32_t part) {
  const int32_t chunks = (last_block - first_block) * (kBlockK / 16), scale_chunks = chunks * 8 / kRun;
  const int32_t row_runs = args.x.stride / kRun;
  const uint32_t bytes_to = shared_address(staged), scales_to = bytes_to + kRows * bytes_stride(part);
  for (int32_t r = static_cast<int32_t>(threadIdx.x / 32); r < kRows && u.row_base + r < u.rows; r += kThreads / 32) {
    const int64_t row = row_number(args, u, u.row_base + r);
    const char* bytes = static_cast<const char*>(args.x.values) + row * args.x.stride + first_block * kBlockK;
    const char* scales =
        reinterpret_cast<const char*>(args.x.scales) + (row * row_runs + first_block * (kBlockK / kRun)) * 8;
#pragma unroll 4
    for (int32_t c = static_cast<int32_t>(threadIdx.x % 32); c < chunks; c += 32)
      copy16_async(bytes_to + r * bytes_stride(part) + c * 16, bytes + c * 16, true);
    for (int32_t c = static_cast<int32_t>(threadIdx.x % 32); c < scale_chunks; c += 32)
      copy16_async(scales_to + r * scales_stride(part, kRun) + c * 16, scales + c * 16, true);
  }
  commit_copies();
}

// One step of 128 columns for 8 rows. `bytes`: the lane's 16 of the step, of row g; `scales`: rows 2t and 2t + 1.
template <class Step>
__device__ __forceinline__ void multiply_step(float (&acc)[4], const Step& step, const char* bytes, const char* scales0,
                                              const char* scales1) {
  const int32_t zero[4] = {kIntegerBits, kIntegerBits, kIntegerBits, kIntegerBits};
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const uint4 b = *reinterpret_cast<const uint4*>(bytes + half * 64);
    if constexpr (Step::kRun == 64) {
      uint32_t a[2][4];
      step.fragment(half * 2, a[0]);
      step.fragment(half * 2 + 1, a[1]);
      int32_t first[4], exact[4];
      mma_bytes(first, a[0], b.x, b.y, zero);
      mma_bytes(exact, a[1], b.z, b.w, first);
      const float2 x0 = *reinterpret_cast<const float2*>(scales0 + half * 8);
      const float2 x1 = *reinterpret_cast<const float2*>(scales1 + half * 8);
      settle(acc, exact, step.run_scales(half), RunRows(x0.x, x0.y, x1.x, x1.y));
    } else {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        uint32_t a[4];
        step.fragment(half * 2 + i, a);
        int32_t exact[4];
        mma_bytes(exact, a, i == 0 ? b.x : b.z, i == 0 ? b.y : b.w, zero);
        const int run = half * 2 + i;
        const float2 x0 = *reinterpret_cast<const float2*>(scales0 + run * 8);
        const float2 x1 = *reinterpret_cast<const float2*>(scales1 + run * 8);
        settle(acc, exact, step.run_scales(run), RunRows(x0.x, x0.y, x1.x, x1.y));
      }
    }
  }
}

template <class Step, int kTiles, int kAhead, int kBlocks>
__global__ void __launch_bounds__(kThreads, kBlocks) narrow_quantised(const __grid_constant__ MatmulArgs args) {
  constexpr int kRows = kTiles * 8;
  extern __shared__ __align__(16) char staged[];
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

  float total[kTiles][4] = {};
  const int32_t stride = bytes_stride(w.part), x_stride = scales_stride(w.part, Step::kRun);
  const char* bytes = staged + g * stride + t * 16;
  const char* scales = staged + kRows * stride + t * 2 * x_stride;
  for (int32_t part_begin = begin; part_begin < end; part_begin += part) {
    const int32_t part_end = min(end, part_begin + part);
    if (part_begin != begin) __syncthreads();
    stage_bytes<kRows, Step::kRun>(args, u, part_begin * 2, part_end * 2, staged, w.part);
    wait_copies<0>();
    __syncthreads();
    if (!tile.present) continue;
    float acc[kTiles][4] = {};
    // The ring of loads runs on across parts.
    const int32_t from = part_begin - begin, to = part_end - begin;
    for (int32_t outer = from / kAhead * kAhead; outer < to; outer += kAhead) {
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        const int32_t s = outer + i;
        if (s < from || s >= to) continue;
#pragma unroll
        for (int j = 0; j < kTiles; ++j) {
          const char* x = scales + j * 8 * x_stride + (s - from) * (Step::kRuns * 8);
          multiply_step(acc[j], ring[i], bytes + j * 8 * stride + (s - from) * kStepK, x, x + x_stride);
        }
        if (s + kAhead < steps) ring[i].load(stream, scale_stream, s + kAhead);
      }
    }
#pragma unroll
    for (int j = 0; j < kTiles; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) total[j][i] = part_begin == begin ? acc[j][i] : total[j][i] + acc[j][i];
  }
  finish<kTiles>(args, u, total, sums);
}

struct Launch {
  const MatmulArgs& args;
  int32_t groups, part;
  Stream stream;
  bool early;
};

template <Format kFormat, int kGroup, bool kWide>
void start_step(const Launch& l) {
  using Step = QuantisedStep<kFormat, kGroup, kWide>;
  const auto rows = static_cast<size_t>(l.args.rows <= 8 ? 8 : 16);
  const size_t bytes = rows * static_cast<size_t>(bytes_stride(l.part) + scales_stride(l.part, Step::kRun));
  const auto run = [&](auto kernel) { start(kernel, l.args, l.groups, bytes, l.stream, l.early); };
  if (rows == 8)
    run(narrow_quantised<Step, 1, 2, 5>);
  else
    run(narrow_quantised<Step, 2, 2, 4>);
}

template <Format kFormat, bool kWide>
void start_group(const Launch& l, int32_t group) {
  if (group == 32)
    start_step<kFormat, 32, kWide>(l);
  else if (group == 64)
    start_step<kFormat, 64, kWide>(l);
  else
    start_step<kFormat, 128, kWide>(l);
}

}  // namespace
}  // namespace narrow

void matmul_quantised(const MatmulArgs& args, int32_t groups, int32_t part, Stream stream, bool early) {
  const Weight& w = args.out[0].weight;
  const narrow::Launch l{args, groups, part, stream, early};
  if (w.format == Format::q8 && w.wide_scales)
    narrow::start_group<Format::q8, true>(l, w.group);
  else if (w.format == Format::q8)
    narrow::start_group<Format::q8, false>(l, w.group);
  else if (w.wide_scales)
    narrow::start_group<Format::q4, true>(l, w.group);
  else
    narrow::start_group<Format::q4, false>(l, w.group);
}

}  // namespace paceline::kernels::cuda
