// CudaOps for drafters of whole blocks.
#include "kernels/cuda/blocks.h"
#include "kernels/cuda/cuda_ops.h"

namespace paceline::kernels::cuda {

void CudaOps::join(const JoinArgs& args) {
  flush();
  JoinRows a;
  a.from = args.from;
  a.rows = sent(args.rows);
  a.to = args.to;
  a.count = static_cast<int32_t>(args.rows.size());
  a.parts = args.parts;
  a.from_rows = args.from_rows;
  a.width = args.width;
  written(args.to, int64_t{a.count} * a.parts * a.width);
  if (wants_bf16(args.to)) a.to_bf16 = make_bf16(args.to, a.count, a.parts * a.width, a.to_stride);
  if (status_.ok()) join_rows(a, stream_);
}

void CudaOps::block_conv(const BlockConvArgs& args) {
  flush();
  std::vector<int32_t> in_block;
  for (const int32_t rows : args.block_rows)
    for (int32_t row = 0; row < rows; ++row) in_block.push_back(row);
  ConvRows a;
  a.x = args.x;
  a.base = args.base;
  a.own = args.own;
  a.in_block = sent(std::span<const int32_t>(in_block));
  a.y = args.y;
  a.own_stride = args.own_stride;
  a.rows = static_cast<int32_t>(in_block.size());
  a.width = args.width;
  a.taps = args.taps;
  a.group = args.group;
  written(args.y, int64_t{a.rows} * a.width);
  if (wants_bf16(args.y)) a.y_bf16 = make_bf16(args.y, a.rows, a.width, a.y_stride);
  if (status_.ok()) cuda::block_conv(a, stream_);
}

void CudaOps::follow(const FollowArgs& args) {
  flush();
  if (!takes("candidates of a draft", args.top, kMostCandidates)) return;
  FollowRows a;
  a.logits = args.logits;
  a.weighed = args.weighed;
  a.before = weight_of(*args.before);
  a.after = weight_of(*args.after);
  a.chains = sent(args.chains);
  a.rows = args.rows;
  a.chain_count = static_cast<int32_t>(args.chains.size());
  a.vocab = args.vocab;
  a.top = args.top;
  a.candidates = static_cast<uint64_t*>(
      grown(candidates_, static_cast<size_t>(a.rows) * static_cast<size_t>(a.top) * sizeof(uint64_t)));
  a.drafts = args.drafts;
  if (status_.ok()) cuda::follow(a, stream_);
}

}  // namespace paceline::kernels::cuda
