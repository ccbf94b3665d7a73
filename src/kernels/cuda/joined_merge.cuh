// What blocks do with the parts that they have of joined pages' outputs, and which blocks there are.
#pragma once

#include "kernels/cuda/attention_merge.cuh"
#include "kernels/cuda/joined_pages.cuh"

namespace paceline::kernels::cuda {

// Behind those that have pages, those that merge.
inline dim3 joined_grid(const AttentionArgs& args) {
  const int32_t parts = args.walks > 0 ? args.walks : args.most_parts;
  const int32_t merging = args.merges_apart ? args.part_queries : args.merge_shares - 1;
  return {static_cast<unsigned>(args.block_count), static_cast<unsigned>(args.kv_heads),
          static_cast<unsigned>(parts + merging)};
}

#if PACELINE_WARPGROUPS
namespace joined_pages {

// By a block that has no pages: the chunks of a query.
__device__ __forceinline__ void merge_walked(const Work& w, const attention_block::KeyParts& parts, int32_t query) {
  if (threadIdx.x >= attention_block::kThreads || query >= w.queries || w.chunks() == 0) return;
  wait_for_previous();
  parts.merge_query(query, w.chunks());
}

struct JoinedMerge {
  using Merging = attention_block::MergedTogether<8>;
  const AttentionArgs& args;
  const Work& w;
  const PartHere& here;
  const attention_block::KeyParts& parts;
  int32_t written = 0;  // as many parts, if there are no more, their blocks write themselves

  // Whether that is all the block has to do.
  [[nodiscard]] __device__ __forceinline__ bool is_all() const {
    return here.share > 0 || here.part >= max(here.parts, 1) || here.parts == 0;
  }
  __device__ __forceinline__ void merge_others() const {
    if (here.share > 0 && args.merges_apart) return merge_walked(w, parts, here.share - 1);
    if (threadIdx.x >= attention_block::kThreads) return;
    if (here.share > 0) {
      wait_for_previous();
      if (here.parts > written)
        parts.template merge_share<false, Merging>(here.share, here.parts, {});
    } else if (here.parts == 0 && here.part == 0) {
      write_nothing(args, w);
    }
  }
  __device__ __forceinline__ void leave_or_merge(const attention_block::OwnPart& kept) const {
    const bool last = here.part == here.parts - 1;
    if (args.merges_apart) return parts.leave_part(here.part, kept, false);
    if (!last || args.merge_shares > 1) parts.leave_part(here.part, kept, last);
    if (last) parts.template merge_share<true, Merging>(0, here.part, kept);
  }
};

}  // namespace joined_pages
#endif

}  // namespace paceline::kernels::cuda
