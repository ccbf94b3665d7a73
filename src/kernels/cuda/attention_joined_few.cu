// Attention over joined pages for few queries (joined_few.cuh), a block for each page or chunk.
//
// Bound: bytes of pages.
#include "kernels/cuda/joined_few.cuh"
#include "kernels/cuda/joined_merge.cuh"
#include "kernels/cuda/launch.cuh"

namespace paceline::kernels::cuda {
namespace {

template <class L>
__global__ void __launch_bounds__(L::kThreads, 1) joined_few_kernel(const __grid_constant__ AttentionArgs args) {
#if PACELINE_WARPGROUPS
  extern __shared__ char raw[];
  let_next_start();
  const Work w = find_work(args, static_cast<int32_t>(gridDim.x - 1 - blockIdx.x));
  const PartHere here(args, w);
  const attention_block::KeyParts parts(args, w, args.part_queries, kDim);
  const JoinedMerge merge{args, w, here, parts};
  if (merge.is_all()) return merge.merge_others();
  walk_few<L, true>(
      args, w, InTurn{here.begin, here.end}, NothingBetween(), raw,
      [&](const attention_block::OwnPart& kept) { merge.leave_or_merge(kept); });
#endif
}

}  // namespace

void attention_joined_few(const AttentionArgs& args, Stream stream) {
  with_few_layout(args, [&](auto layout) {
    using L = decltype(layout);
    launch(joined_few_kernel<L>, joined_grid(args), dim3(L::kThreads), L::kBytes, stream, true, args);
  });
}

}  // namespace paceline::kernels::cuda
