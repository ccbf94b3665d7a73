// Attention over joined pages for few queries (joined_few.cuh) where chunks are more than a device has places: each
// block walks as many pages as every other, and chunks are cut where it begins and ends. The piece of a chunk that it
// ends with it does first, and leaves what that gives, so that the next block, which does the rest of that chunk last,
// goes on from there and waits for nobody. A chunk's pages are merged in ascending order from nothing all the same.
//
// Bound: bytes of pages.
#include "kernels/cuda/joined_few.cuh"
#include "kernels/cuda/launch.cuh"

namespace paceline::kernels::cuda {
namespace {

#if PACELINE_WARPGROUPS
// The pages of a block, kChunkPages at least, in the order in which it walks them.
struct CutWalk {
  int32_t rest, first, last, end;  // pages: [rest, first) of the block's before, whole chunks, [last, end) handed on

  __device__ __forceinline__ CutWalk(const Work& w, int32_t number, int32_t walks) {
    const int32_t pages = w.page_end - w.page_begin;
    rest = w.page_begin + pages * number / walks;
    end = w.page_begin + pages * (number + 1) / walks;
    first = number == 0 ? rest : round_up(rest, kChunkPages);
    last = number == walks - 1 ? end : end / kChunkPages * kChunkPages;
  }
  [[nodiscard]] __device__ __forceinline__ int32_t pages() const { return end - rest; }
  // The page that comes so manieth.
  [[nodiscard]] __device__ __forceinline__ int32_t page(int32_t number) const {
    const int32_t whole = number - (end - last);
    if (whole < 0) return last + number;
    return whole < last - first ? first + whole : rest + whole - (last - first);
  }
  // Whether a part ends with this page, which may not be its chunk's last one.
  [[nodiscard]] __device__ __forceinline__ bool ends_part(int32_t page) const {
    return page + 1 == end || (page + 1) % kChunkPages == 0;
  }
};

// Where blocks leave parts of chunks, and what they hand on.
struct WalkParts {
  const attention_block::KeyParts& parts;
  const Work& w;

  [[nodiscard]] __device__ __forceinline__ float* of_chunk(int32_t page) const {
    return parts.first + static_cast<int64_t>(page / kChunkPages - w.first_chunk()) * parts.part_floats();
  }
  // Behind all parts of all.
  [[nodiscard]] __device__ __forceinline__ float* handed_on(const AttentionArgs& args, int32_t walk) const {
    const int64_t heads = static_cast<int64_t>(gridDim.x) * args.kv_heads;
    const int64_t place = static_cast<int64_t>(blockIdx.x) * args.kv_heads + blockIdx.y;
    return args.partial + (heads * args.most_parts + place * args.walks + walk) * parts.part_floats();
  }
};
#endif

template <int kQueries>
__global__ void __launch_bounds__(kThreads, 1) joined_walks_kernel(const __grid_constant__ AttentionArgs args) {
#if PACELINE_WARPGROUPS
  using L = FewLayout<kQueries, false>;
  using Merging = attention_block::MergedTogether<kChunkPages>;
  extern __shared__ char raw[];
  let_next_start();
  const auto number = static_cast<int32_t>(blockIdx.z);
  const Work w = find_work(args, static_cast<int32_t>(gridDim.x - 1 - blockIdx.x));
  const attention_block::KeyParts parts(args, w, args.part_queries, kDim);
  if (number >= args.walks) {
    wait_for_previous();
    return parts.template merge_share<false, Merging>(number - args.walks, w.chunks(), {});
  }
  char* const shared = raw + ((shared_address(raw) + 1023) / 1024 * 1024 - shared_address(raw));
  const CutWalk walk(w, number, args.walks);
  const PageSlots<CutWalk> slots(shared, L::kPagesAt, L::kBarriersAt, w, 0, walk.pages(), walk);
  slots.ask_first();
  attention_groups::stage_queries<kDim, kQueries>(args, w, shared);
  show_copies_to_tensor_cores();
  __syncthreads();

  FewQueries<kQueries, false> queries(args, w, shared);
  const WalkParts places{parts, w};
  const int32_t stats = parts.stats_at(0);
  for (int32_t i = 0; i < walk.pages(); ++i) {
    const int32_t page = walk.page(i);
    if (page == walk.rest && walk.rest < walk.first) {
      float* const from = places.handed_on(args, number - 1);
      queries.take_part(w, from, from + stats);
    }
    const char* next = threadIdx.x == 0 ? slots.find(i + 2) : nullptr;
    queries.take_page(slots.wait(i), page, nullptr);
    if (threadIdx.x == 0) slots.ask(i + 2, next);
    if (!walk.ends_part(page)) continue;
    float* const to = page >= walk.last ? places.handed_on(args, number) : places.of_chunk(page);
    queries.leave_part(w, to, to + stats);
    queries.begin_part();
  }
#endif
}

template <int kQueries>
void start_walks(const AttentionArgs& args, Stream stream) {
  const dim3 grid(static_cast<unsigned>(args.block_count), static_cast<unsigned>(args.kv_heads),
                  static_cast<unsigned>(args.walks + args.merge_shares));
  launch(joined_walks_kernel<kQueries>, grid, dim3(kThreads), FewLayout<kQueries, false>::kBytes, stream, true, args);
}

}  // namespace

void attention_joined_walks(const AttentionArgs& args, Stream stream) {
  if (args.part_queries <= 8)
    start_walks<8>(args, stream);
  else if (args.part_queries <= 16)
    start_walks<16>(args, stream);
  else
    start_walks<32>(args, stream);
}

}  // namespace paceline::kernels::cuda
