// Attention over joined pages for few queries (joined_few.cuh) where chunks are more than a device has places
// (joined_walks.cuh).
//
// Bound: bytes of pages.
#include "kernels/cuda/joined_few.cuh"
#include "kernels/cuda/joined_merge.cuh"
#include "kernels/cuda/joined_walks.cuh"
#include "kernels/cuda/launch.cuh"

namespace paceline::kernels::cuda {
namespace {

template <class L>
__global__ void __launch_bounds__(L::kThreads, 1) joined_walks_kernel(const __grid_constant__ AttentionArgs args) {
#if PACELINE_WARPGROUPS
  extern __shared__ char raw[];
  let_next_start();
  const auto number = static_cast<int32_t>(blockIdx.z);
  const Work w = find_work(args, static_cast<int32_t>(gridDim.x - 1 - blockIdx.x));
  const attention_block::KeyParts parts(args, w, args.part_queries, kDim);
  if (number >= args.walks) return merge_walked(w, parts, number - args.walks);
  const CutWalk walk(w, number, args.walks);
  const HandedOn between{args, w, parts, walk, number};
  walk_few<L, false>(args, w, walk, between, raw, [](const auto&) {});
#endif
}

}  // namespace

void attention_joined_walks(const AttentionArgs& args, Stream stream) {
  with_few_layout(args, [&](auto layout) {
    using L = decltype(layout);
    launch(joined_walks_kernel<L>, joined_grid(args), dim3(L::kThreads), L::kBytes, stream, true, args);
  });
}

}  // namespace paceline::kernels::cuda
