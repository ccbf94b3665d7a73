// The first products of a layer with experts, and its router, in one launch of few rows. Blocks of the router come
// first, those of the dense part behind them, which wait for the kernel in front alone, and those of experts last: they
// wait for the plan, which the router's last block hands over. So the router's ways to the cache and back pass while
// the dense part's weights do.
//
// Bound: bytes of weights over memory bandwidth.
#include "kernels/cuda/narrow_block.cuh"
#include "kernels/cuda/router.cuh"

namespace paceline::kernels::cuda {
namespace narrow {
namespace {

constexpr int32_t kWarps = kThreads / 32;
// Steps of a row that are read at once: as many as there are registers for.
constexpr int kStepsAtOnce = 4;

struct RouterBeside {
  RouterArgs router;
  RouteArgs route;
  PlanArgs plan;
  HandedPlan handed;

  [[nodiscard]] PACELINE_BOTH int32_t blocks_of_row() const { return router.router.tiles() * 8 / kWarps; }
  [[nodiscard]] PACELINE_BOTH int32_t blocks() const { return route.rows * blocks_of_row() + 1; }
};

// A warp has two experts' scores of the block's row, which passes through shared memory.
__device__ __forceinline__ void score_row(const RouterBeside& args, char* shared) {
  const auto block = static_cast<int32_t>(blockIdx.x), thread = static_cast<int32_t>(threadIdx.x);
  const int32_t row = block / args.blocks_of_row(), cols = args.router.router.cols;
  const ExpertPair pair(args.router, block % args.blocks_of_row() * kWarps + thread / 32);
  wait_for_previous();
  let_next_start();
  const auto* from = reinterpret_cast<const float2*>(args.router.x + static_cast<int64_t>(row) * cols);
  auto* const x = reinterpret_cast<float2*>(shared);
#pragma unroll 11
  for (int32_t i = thread; i < cols / 2; i += kThreads) x[i] = from[i];
  __syncthreads();
  pair.leave_scores<kStepsAtOnce>(reinterpret_cast<const float*>(shared), row);
}

// A warp chooses for every fourth row.
__device__ __forceinline__ void choose_and_plan(const RouterBeside& args, char* shared) {
  constexpr int32_t kRows = kMostHandedRows / kWarps;
  auto& slots = *reinterpret_cast<Slots*>(shared);
  auto* const scales = reinterpret_cast<float*>(shared + sizeof(Slots));
  const RouteArgs& route = args.route;
  const auto warp = static_cast<int32_t>(threadIdx.x / 32), lane = static_cast<int32_t>(threadIdx.x % 32);
  slots.clear();
  for (auto e = static_cast<int32_t>(threadIdx.x); e < route.experts; e += kThreads) scales[e] = route.expert_scale[e];
  wait_for_previous();
  let_next_start();
  __syncthreads();
  Choice choices[kRows];
#pragma unroll
  for (int32_t i = 0; i < kRows; ++i) {
    const int32_t row = warp + i * kWarps;
    if (row >= route.rows) continue;
    float scores[kEach];
    take_scores(args.router.left + row * kMaxExperts, route.experts, scores);
    choices[i] = choose_experts(scores, route);
    if (lane < route.top) slots.add(row, choices[i].expert);
  }
  slots.plan(PlanHanded{args.handed});
#pragma unroll
  for (int32_t i = 0; i < kRows; ++i) {
    const int32_t row = warp + i * kWarps;
    if (row >= route.rows || lane >= route.top) continue;
    const Choice& choice = choices[i];
    slots.write(args.plan, row, lane, choice.expert);
    route.chosen[row * route.top + lane] = choice.expert;
    route.share[row * route.top + lane] = choice.share(scales[choice.expert]);
  }
}

__global__ void __launch_bounds__(kThreads, kBlocks)
    narrow_beside_router(const __grid_constant__ MatmulArgs args, const __grid_constant__ Staging staging,
                         const __grid_constant__ RouterBeside router) {
  extern __shared__ __align__(128) char shared[];
  const auto block = static_cast<int32_t>(blockIdx.x);
  if (block >= args.in_front) return multiply_unit<Bf16Chunk, 1, 1>(args, staging, shared);
  block + 1 < args.in_front ? score_row(router, shared) : choose_and_plan(router, shared);
}

static_assert(kBytes >= static_cast<int32_t>(sizeof(Slots)) + kMaxExperts * 4);
static_assert(kBytes >= kRouterSteps * 128 * 4);

}  // namespace
}  // namespace narrow

void matmul_beside_router(MatmulArgs args, const RouterArgs& router, const RouteArgs& route, const PlanArgs& plan,
                          Stream stream) {
  const narrow::RouterBeside beside{router, route, plan, args.experts.handed};
  args.in_front = beside.blocks();
  narrow::lay_out(args, kUnitOutputs, narrow::kPlenty, kMostHandedRows);
  launch(narrow::narrow_beside_router, dim3(static_cast<unsigned>(args.blocks)), dim3(narrow::kThreads),
         narrow::kBytes, stream, true, args, narrow::staging_of<Bf16Chunk, 1, 1>(args), beside);
}

}  // namespace paceline::kernels::cuda
