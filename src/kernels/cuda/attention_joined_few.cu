// Attention over joined pages for few queries (joined_few.cuh), a block for each page or chunk.
//
// Bound: bytes of pages.
#include "kernels/cuda/coded_pages.cuh"
#include "kernels/cuda/joined_few.cuh"
#include "kernels/cuda/launch.cuh"

namespace paceline::kernels::cuda {
namespace {

#if PACELINE_WARPGROUPS
// Pages of bf16, which whoever is done asks for.
template <int kQueries>
__device__ __forceinline__ void walk(const PartHere& here, const PageSlots<>& slots,
                                     FewQueries<kQueries, false>& queries) {
  for (int32_t page = here.begin; page < here.end; ++page) {
    const char* next = threadIdx.x == 0 ? slots.find(page + 2) : nullptr;
    queries.take_page(slots.wait(page), page, nullptr);
    if (threadIdx.x == 0) slots.ask(page + 2, next);
  }
}
template <int kQueries>
__device__ __forceinline__ void walk(const PartHere& here, const CodedSlots& slots,
                                     FewQueries<kQueries, true>& queries) {
  for (int32_t page = here.begin; page < here.end; ++page) {
    queries.take_page(slots.wait(page), page, slots.scales_of(page));
    if (threadIdx.x == 0) slots.release(page);
  }
}

template <int kQueries, bool kCodes>
__device__ __forceinline__ auto slots_of(char* shared, const Work& w, const PartHere& here) {
  using L = FewLayout<kQueries, kCodes>;
  if constexpr (kCodes)
    return CodedSlots(shared, L::kPagesAt, L::kBarriersAt, L::kScalesAt, make_int2(kGroup, 1), w, here);
  else
    return PageSlots(shared, L::kPagesAt, L::kBarriersAt, w, here.begin, here.end);
}
#endif

template <int kQueries, bool kCodes>
__global__ void __launch_bounds__(kCodes ? kThreads + kGroup : kThreads, 1)
    joined_few_kernel(const __grid_constant__ AttentionArgs args) {
#if PACELINE_WARPGROUPS
  using Merging = attention_block::MergedTogether<12>;
  extern __shared__ char raw[];
  let_next_start();
  const bool brings = kCodes && threadIdx.x >= kThreads;
  const Work w = find_work(args, static_cast<int32_t>(gridDim.x - 1 - blockIdx.x));
  const PartHere here(args, w);
  const attention_block::KeyParts parts(args, w, args.part_queries, kDim);
  if (here.share > 0) {
    if (brings) return;
    wait_for_previous();
    if (here.parts > 0) parts.template merge_share<false, Merging>(here.share, here.parts, {});
    return;
  }
  if (here.part >= max(here.parts, 1)) return;
  if (here.parts == 0) {
    if (!brings) write_nothing(args, w);
    return;
  }
  char* const shared = raw + ((shared_address(raw) + 1023) / 1024 * 1024 - shared_address(raw));
  const auto slots = slots_of<kQueries, kCodes>(shared, w, here);
  if constexpr (kCodes) {
    wait_for_previous();
    if (brings) {
      __syncthreads();
      bring_pages(slots, static_cast<int32_t>(threadIdx.x) - kThreads);
      return;
    }
  } else {
    slots.ask_first();
  }
  attention_groups::stage_queries<kDim, kQueries>(args, w, shared);
  show_copies_to_tensor_cores();
  __syncthreads();

  FewQueries<kQueries, kCodes> queries(args, w, shared);
  walk(here, slots, queries);
  const attention_block::OwnPart kept = queries.keep(w);
  const bool last = here.part == here.parts - 1;
  if (!last || args.merge_shares > 1) parts.leave_part(here.part, kept, last);
  if (last) parts.template merge_share<true, Merging>(0, here.part, kept);
#endif
}

template <int kQueries, bool kCodes>
void start_few(const AttentionArgs& args, Stream stream) {
  const dim3 grid(static_cast<unsigned>(args.block_count), static_cast<unsigned>(args.kv_heads),
                  static_cast<unsigned>(args.most_parts + args.merge_shares - 1));
  launch(joined_few_kernel<kQueries, kCodes>, grid, dim3(kCodes ? kThreads + kGroup : kThreads),
         FewLayout<kQueries, kCodes>::kBytes, stream, true, args);
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
