// Products of few rows with bf16 weights, as one unbroken stream of weights per multiprocessor.
//
//   y [rows, n] = W [n, k] x [rows, k], rows <= 16
// The work is a list of jobs, a tile of 16 outputs in one part of K each: [product][matrix][part][tile]. Every block
// takes an equal share of the list's bytes, and its warps take the jobs of the share in turn. A warp's weights come
// through a ring in shared memory that runs on from job to job, so that reading never stops at a border; since each
// lane reads back only what it copied itself, the ring needs no barrier. The list goes part by part, so that a block
// meets one or two parts of K and stages the rows that often, not once per unit of outputs.
// A job's sums are left in device memory; when a block is through, it looks which tiles now have all their parts and
// adds those up in ascending order.
//
// A block starts before the kernel in front of it has ended: it fills its ring, and asks for what comes next to be in
// the cache, while that one finishes. Bound: bytes of weights over memory bandwidth.
#include <cstdlib>

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/matmul.h"
#include "kernels/cuda/stream_list.cuh"

namespace paceline::kernels::cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kThreads = kWarps * 32;
constexpr int kSharedForRows = 52 * 1024;  // per 8 rows

// Quads on their way per warp.
template <int kTiles>
constexpr int kRing = kTiles == 1 ? 6 : 5;

__device__ __forceinline__ void prefetch_l2(const char* from, int32_t bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
#endif
}

// The rows of a round's segments in shared memory, [segment][kRows][stride], zeros where there is no row. A warp takes
// a row of a segment at once, and two such before it waits for either.
template <int kRows>
__device__ void stage_rows(const MatmulArgs& args, const Round& round, char* shared, int32_t stride) {
  constexpr int kChunks = kLongestPart * kBlockK * 2 / 16 / 32;  // of a row, per lane
  const int lane = threadIdx.x % 32;
  for (int32_t first = threadIdx.x / 32; first < round.count * kRows; first += 2 * kWarps) {
    uint4 v[2][kChunks];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int32_t item = min(first + i * kWarps, round.count * kRows - 1), r = item % kRows;
      const Segment& s = round.segments[item / kRows];
      const Product& p = args.out[s.product];
      const Rows& x = p.dense ? p.x : args.x;
      const bool has = r < s.rows;
      int32_t row = has ? s.first_slot + r : 0;
      if (has && !p.dense && args.experts.slot_row != nullptr) row = args.experts.slot_row[row];
      const char* from = static_cast<const char*>(x.values) + static_cast<int64_t>(row) * x.stride * 2 +
                         static_cast<int64_t>(s.first_quad) * kBlockK * 2;
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        const int32_t at = c * 32 + lane;
        v[i][c] = has && at < s.quads * (kBlockK * 2 / 16) ? *reinterpret_cast<const uint4*>(from + at * 16)
                                                           : make_uint4(0, 0, 0, 0);
      }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int32_t item = first + i * kWarps;
      if (item >= round.count * kRows) break;
      const int32_t chunks = round.segments[item / kRows].quads * (kBlockK * 2 / 16);
#pragma unroll
      for (int c = 0; c < kChunks; ++c)
        if (c * 32 + lane < chunks) *reinterpret_cast<uint4*>(shared + item * stride + (c * 32 + lane) * 16) = v[i][c];
    }
  }
}

// Adds up the tiles that this block was the last to give a part to.
__device__ void finish(const MatmulArgs& args, const Segment* segments, int32_t jobs, int32_t* found,
                       int32_t* found_count) {
  if (threadIdx.x == 0) *found_count = 0;
  __threadfence();
  __syncthreads();
  for (int32_t job = threadIdx.x; job < jobs; job += kThreads) {
    int32_t segment = 0;
    while (job >= segments[segment].first_job + segments[segment].jobs) ++segment;
    const Segment& s = segments[segment];
    const Product& p = args.out[s.product];
    const int32_t tile = (s.first_tile + job - s.first_job) / (p.gated() ? 2 : 1);
    int32_t* arrivals = args.arrivals + s.arrivals + tile;
    const int32_t all = p.weight.parts() * (p.gated() ? 2 : 1);
    if (atomicAdd(arrivals, 1) != all - 1) continue;
    *arrivals = 0;
    found[atomicAdd(found_count, 1)] = segment << 24 | tile;
  }
  __threadfence();
  __syncthreads();
  const int32_t per_tile = args.rows * kTileOutputs, count = *found_count * per_tile;
  for (int32_t i = threadIdx.x; i < count; i += kThreads) {
    const int32_t at = found[i / per_tile], element = i % per_tile;
    const Segment& s = segments[at >> 24];
    const Product& p = args.out[s.product];
    const int32_t tile = at & 0xffffff, row = element / kTileOutputs;
    const int32_t output = tile * kTileOutputs + element % kTileOutputs, parts = p.weight.parts();
    if (row >= s.rows || output >= p.weight.rows) continue;
    const int32_t gated = p.gated() ? 2 : 1;
    const float* first = args.partial + s.partial - s.first_quad / p.weight.part * s.part_step +
                         static_cast<int64_t>(tile) * gated * per_tile + element;
    float value = __ldcg(first), up = p.gated() ? __ldcg(first + per_tile) : 0.0f;
#pragma unroll 8
    for (int32_t part = 1; part < parts; ++part) {
      value += __ldcg(first + part * s.part_step);
      if (p.gated()) up += __ldcg(first + part * s.part_step + per_tile);
    }
    if (p.gated()) value = gelu(value) * up;
    const int64_t to = s.first_slot + row;
    if (p.times != nullptr) value = gelu(value) * p.times[to * p.times_stride + output];
    if (p.y != nullptr) p.y[to * p.weight.rows + output] = value;
    if (p.y_bf16 != nullptr)
      reinterpret_cast<__nv_bfloat16*>(p.y_bf16)[to * p.y_stride + output] = __float2bfloat16_rn(value);
  }
}

template <int kTiles>
__global__ void __launch_bounds__(kThreads, 1)
    stream_bf16(const __grid_constant__ MatmulArgs args, int32_t round_segments, int32_t x_stride, int32_t ahead) {
  constexpr int kRows = kTiles * 8, kSlots = kRing<kTiles>;
  extern __shared__ __align__(16) char shared[];  // [warp][slot][quad], then rows [segment][kRows][x_stride]
  __shared__ Round round;
  __shared__ Share early, late;
  __shared__ int32_t found_count;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  char* staged = shared + kWarps * kSlots * kQuadBytes;
  const uint32_t ring = shared_address(shared) + warp * kSlots * kQuadBytes + lane * 16;
  const char* ring_read = shared + warp * kSlots * kQuadBytes + lane * 16;
  const Segment* segments = round.segments;
  // What is known while the kernel in front still runs: everything, or what needs no plan.
  const ExpertPlan* plan = args.experts.plan;
  const bool waits = plan != nullptr && !args.experts.known;
  int32_t dense = 0;
  while (dense < args.count && args.out[dense].dense) ++dense;
  if (!waits) let_next_start();
  find_share(args, {0, plan != nullptr ? dense : args.count, 1}, early);
  if (plan != nullptr && !waits) find_share(args, {dense, args.count, plan->touched}, late);
  bool first_round = true;
  while (true) {
    __syncthreads();
    const bool all_known = !waits || !first_round;
    if (threadIdx.x == 0) {
      round.count = round.jobs = 0;
      append(args, early, round, round_segments);
      if (plan != nullptr && all_known) append(args, late, round, round_segments);
    }
    __syncthreads();
    int32_t jobs = round.jobs;

    Walk load, use;
    load.job = use.job = warp;
    load.enter(segments, jobs);
    const auto load_one = [&](int32_t slot) {
      if (load.left > 0) {
        const char* from = load.at + lane * 16;
#pragma unroll
        for (int i = 0; i < 4; ++i) copy16_async(ring + slot * kQuadBytes + i * 512, from + i * 512, true);
        load.at += kQuadBytes;
        if (--load.left == 0) {
          load.job += kWarps;
          load.enter(segments, jobs);
        }
      }
      commit_copies();
    };
    int32_t filled = 0;
    for (; filled < kSlots && load.left > 0; ++filled) load_one(filled);
    if (first_round) {
      if (lane == 0 && ahead > 0 && load.left > 0) prefetch_l2(load.at, min(load.left * kQuadBytes, ahead));
      wait_for_previous();
      if (waits) {
        // Whoever starts behind this one may take the plan as known.
        let_next_start();
        find_share(args, {dense, args.count, plan->touched}, late);
        __syncthreads();
        if (threadIdx.x == 0) append(args, late, round, round_segments);
        __syncthreads();
        jobs = round.jobs;
        if (load.left == 0) load.enter(segments, jobs);
      }
      first_round = false;
    }
    if (jobs == 0) return;
    for (; filled < kSlots; ++filled) load_one(filled);
    use.enter(segments, jobs);
    stage_rows<kRows>(args, round, staged, x_stride);
    __syncthreads();

    float acc[kTiles][4] = {};
    int32_t slot = 0;
    uint32_t x_at = 0;
    const uint32_t x_lane = shared_address(staged) + lane % 8 * x_stride + lane / 8 * 16;
    bool fresh = true;
    while (use.left > 0) {
      if (fresh) x_at = x_lane + use.segment * kRows * x_stride;
      fresh = false;
      wait_copies<kSlots - 1>();
      uint4 a[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) a[i] = *reinterpret_cast<const uint4*>(ring_read + slot * kQuadBytes + i * 512);
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int j = 0; j < kTiles; ++j) {
          uint32_t b[4];
          ldmatrix4(x_at + j * 8 * x_stride + half * 64, b[0], b[1], b[2], b[3]);
          mma_bf16(acc[j], a[half * 2], b[0], b[1]);
          mma_bf16(acc[j], a[half * 2 + 1], b[2], b[3]);
        }
      x_at += kBlockK * 2;
      load_one(slot);
      slot = slot + 1 == kSlots ? 0 : slot + 1;
      if (--use.left > 0) continue;
      const Segment& s = segments[use.segment];
      float* sums = args.partial + s.partial +
                    static_cast<int64_t>(s.first_tile + use.job - s.first_job) * kTileOutputs * args.rows;
#pragma unroll
      for (int j = 0; j < kTiles; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int32_t row = j * 8 + t * 2 + i % 2;
          if (row < s.rows) __stcg(sums + row * kTileOutputs + g + i / 2 * 8, acc[j][i]);
          acc[j][i] = 0;
        }
      fresh = true;
      use.job += kWarps;
      use.enter(segments, jobs);
    }
    wait_copies<0>();
    __syncthreads();
    finish(args, segments, jobs, reinterpret_cast<int32_t*>(shared), &found_count);
  }
}

int32_t attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  (void)cudaGetDevice(&device);
  (void)cudaDeviceGetAttribute(&value, which, device);
  return value;
}

// What a block takes of shared memory.
struct Shared {
  int32_t x_stride, segments, bytes;
};
template <int kTiles>
Shared shared_of(const MatmulArgs& args) {
  int32_t part = 0;
  for (int32_t i = 0; i < args.count; ++i) part = args.out[i].weight.part > part ? args.out[i].weight.part : part;
  Shared s{};
  s.x_stride = part * kBlockK * 2 + 16;
  const int32_t segment_bytes = kTiles * 8 * s.x_stride, fit = kTiles * kSharedForRows / segment_bytes;
  s.segments = fit < 2 ? 2 : fit > kMaxSegments ? kMaxSegments : fit;
  s.bytes = kWarps * kRing<kTiles> * kQuadBytes + s.segments * segment_bytes;
  return s;
}

template <int kTiles>
void start(const MatmulArgs& args, Stream stream, bool early) {
  const Shared s = shared_of<kTiles>(args);
  const auto bytes = static_cast<size_t>(s.bytes);
  allow_shared(stream_bf16<kTiles>, bytes);
  const char* text = std::getenv("PACELINE_AHEAD");
  const int32_t ahead = text != nullptr ? std::atoi(text) : 8192;
  launch(stream_bf16<kTiles>, dim3(static_cast<unsigned>(attribute(cudaDevAttrMultiProcessorCount))), dim3(kThreads),
         bytes, stream, early, args, s.segments, s.x_stride, ahead);
}

}  // namespace

bool can_stream(const MatmulArgs& args) {
  if (args.rows > kNarrowRows) return false;
  int64_t floats = 0, arrivals = 0;
  for (int32_t i = 0; i < args.count; ++i) {
    const Weight& w = args.out[i].weight;
    const int64_t matrices = args.experts.plan != nullptr && !args.out[i].dense ? args.experts.most_touched : 1;
    if (w.format != Format::bf16 || w.part > kLongestPart) return false;
    arrivals += matrices * w.tiles();
    floats += matrices * w.tiles() * (args.out[i].gated() ? 2 : 1) * w.parts() * kTileOutputs * args.rows;
  }
  const int32_t shared = args.rows <= 8 ? shared_of<1>(args).bytes : shared_of<2>(args).bytes;
  return arrivals <= kMaxArrivals && floats <= static_cast<int64_t>(kPartialFloats) &&
         shared + 2048 <= attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
}

void matmul_stream(const MatmulArgs& args, Stream stream, bool early) {
  if (args.rows <= 8)
    start<1>(args, stream, early);
  else
    start<2>(args, stream, early);
}

}  // namespace paceline::kernels::cuda
