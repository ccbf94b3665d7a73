// What the attention kernels share: which rows and keys a block has, and how pages are merged.
#pragma once

#include <cmath>

#include "kernels/cuda/attention.h"
#include "kernels/cuda/device.cuh"

namespace paceline::kernels::cuda {

inline constexpr float kNone = -INFINITY;

// What a block works on.
struct Work {
  const DeviceSeq* seq;
  int32_t first_row, first_pos;  // of the block
  int32_t rows, grouped, kv_head;
  int32_t queries;               // that are there
  int32_t page_begin, page_end;  // that any of its rows sees

  [[nodiscard]] __device__ __forceinline__ int32_t first_chunk() const { return page_begin / kChunkPages; }
  [[nodiscard]] __device__ __forceinline__ int32_t chunks() const {
    return page_begin < page_end ? (page_end - 1) / kChunkPages - first_chunk() + 1 : 0;
  }
};

__device__ inline int32_t first_key(const AttentionArgs& args, int32_t pos) {
  return args.window == 0 ? 0 : max(0, pos - args.window + 1);
}
__device__ inline int32_t last_key(const AttentionArgs& args, int32_t row, int32_t pos) {
  return args.last_pos != nullptr ? args.last_pos[row] : pos - (args.sees_self ? 0 : 1);
}

__device__ inline Work find_work(const AttentionArgs& args, int32_t block_number) {
  Work w;
  const RowBlock block = args.blocks != nullptr ? args.blocks[block_number] : args.few_blocks[block_number];
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

// The merging of one page into its chunk, or of one chunk, wherever it is done.
struct Merge {
  float top = kNone, sum = 0;
  float before = 0, now = 0;  // what is multiplied with what was, and with what comes

  // The factors where `higher` is the higher one of both tops.
  __device__ void weigh(float top_before, float part_top, float higher) {
    before = top_before == kNone ? 0.0f : __expf(top_before - higher);
    now = part_top == kNone ? 0.0f : __expf(part_top - higher);
  }
  __device__ void add(float part_sum) { sum = fmaf(part_sum, now, sum * before); }
  __device__ void take(float part_top, float part_sum) {
    const float higher = fmaxf(top, part_top);
    weigh(top, part_top, higher);
    add(part_sum);
    top = higher;
  }
};

}  // namespace paceline::kernels::cuda
