// What drafters of whole blocks need on the device, as plain arguments.
#pragma once

#include "kernels/choosing_ops.h"
#include "kernels/cuda/matmul.h"

namespace paceline::kernels::cuda {

// Equal arguments are equal bytes: see Launches.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"

// to[i] = from[0][rows[i]], then from[1][rows[i]], …
struct JoinRows {
  const float* from = nullptr;    // [parts, from_rows, width]
  const int32_t* rows = nullptr;  // [count], device memory
  float* to = nullptr;            // [count, parts * width]
  uint16_t* to_bf16 = nullptr;    // [count, to_stride], or none
  int32_t count = 0, parts = 0, from_rows = 0, width = 0;
  int32_t to_stride = 0, filler = 0;
};
void join_rows(const JoinRows& args, Stream stream);

// As BlockConvArgs.
struct ConvRows {
  const float* x = nullptr;           // [rows, width]
  const float* base = nullptr;        // [taps, width]
  const float* own = nullptr;         // [rows, own_stride]
  const int32_t* in_block = nullptr;  // [rows], device memory: rows of its block in front of it
  float* y = nullptr;                 // [rows, width]
  uint16_t* y_bf16 = nullptr;         // [rows, y_stride], or none
  int64_t own_stride = 0;
  int32_t rows = 0, width = 0, taps = 0, group = 1;
  int32_t y_stride = 0, filler = 0;
};
void block_conv(const ConvRows& args, Stream stream);

// As FollowArgs: the best few of each row, and then row after row of a chain.
inline constexpr int32_t kMostCandidates = 64;
struct FollowRows {
  const float* logits = nullptr;       // [rows, vocab]
  const float* weighed = nullptr;      // [rows, rank]
  Weight before, after;                // [vocab, rank]
  const DraftChain* chains = nullptr;  // [chain_count], device memory
  int32_t rows = 0, chain_count = 0, vocab = 0, top = 0;
  uint64_t* candidates = nullptr;  // [rows, top]: keys (order.cuh), best first
  int32_t* drafts = nullptr;       // [rows]
};
void follow(const FollowRows& args, Stream stream);

#pragma GCC diagnostic pop

}  // namespace paceline::kernels::cuda
