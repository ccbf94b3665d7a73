// Attention over joined pages for few queries (joined_few.cuh), a block for each page or chunk.
//
// Bound: bytes of pages.
#include "kernels/cuda/joined_few.cuh"
#include "kernels/cuda/joined_merge.cuh"
#include "kernels/cuda/launch.cuh"

namespace paceline::kernels::cuda {
namespace {

template <int kQueries, bool kCodes>
__global__ void __launch_bounds__(FewLayout<kQueries, kCodes>::kThreads, 1)
    joined_few_kernel(const __grid_constant__ AttentionArgs args) {
#if PACELINE_WARPGROUPS
  extern __shared__ char raw[];
  let_next_start();
  const Work w = find_work(args, static_cast<int32_t>(gridDim.x - 1 - blockIdx.x));
  const PartHere here(args, w);
  const attention_block::KeyParts parts(args, w, args.part_queries, kDim);
  const JoinedMerge merge{args, w, here, parts};
  if (merge.is_all()) return merge.merge_others();
  walk_few<FewLayout<kQueries, kCodes>, true>(
      args, w, InTurn{here.begin, here.end}, NothingBetween(), raw,
      [&](const attention_block::OwnPart& kept) { merge.leave_or_merge(kept); });
#endif
}

template <int kQueries, bool kCodes>
void start_few(const AttentionArgs& args, Stream stream) {
  using L = FewLayout<kQueries, kCodes>;
  launch(joined_few_kernel<kQueries, kCodes>, joined_grid(args), dim3(L::kThreads), L::kBytes, stream, true, args);
}

}  // namespace

void attention_joined_few(const AttentionArgs& args, Stream stream) {
  if (args.codes) return args.part_queries <= 8 ? start_few<8, true>(args, stream) : start_few<16, true>(args, stream);
  if (args.part_queries <= 8)
    start_few<8, false>(args, stream);
  else if (args.part_queries <= 16)
    start_few<16, false>(args, stream);
  else
    start_few<32, false>(args, stream);
}

}  // namespace paceline::kernels::cuda
