// Which keys a row sees, and what a block of attention works on.
#pragma once

#include "kernels/cuda/attention.h"

namespace paceline::kernels::cuda {

// What a block works on.
struct Work {
  const DeviceSeq* seq;
  int32_t first_row, first_pos;  // of the block
  int32_t rows, grouped, kv_head;
  int32_t queries;               // that are there
  int32_t page_begin, page_end;  // that any of its rows sees
};

__device__ inline int32_t first_key(const AttentionArgs& args, int32_t pos) {
  return args.window == 0 ? 0 : max(0, pos - args.window + 1);
}
__device__ inline int32_t last_key(const AttentionArgs& args, int32_t row, int32_t pos) {
  return args.last_pos != nullptr ? args.last_pos[row] : pos - (args.sees_self ? 0 : 1);
}

__device__ inline Work find_work(const AttentionArgs& args) {
  Work w;
  const RowBlock block = args.blocks != nullptr ? args.blocks[blockIdx.x] : args.few_blocks[blockIdx.x];
  w.seq = args.seqs + block.seq;
  w.first_row = w.seq->first_row + block.first;
  w.first_pos = w.seq->first_pos + block.first;
  w.rows = block.count;
  w.grouped = args.heads / args.kv_heads;
  w.kv_head = static_cast<int32_t>(blockIdx.y);
  w.queries = w.rows * w.grouped;
  int32_t last = w.first_pos + w.rows - (args.sees_self ? 1 : 2);
  if (args.last_pos != nullptr)
    for (int32_t r = 0; r < w.rows; ++r) last = max(last, args.last_pos[w.first_row + r]);
  w.page_begin = first_key(args, w.first_pos) / kPageTokens;
  w.page_end = last < 0 ? w.page_begin : last / kPageTokens + 1;
  return w;
}

}  // namespace paceline::kernels::cuda
