// What calls of a Gemma 4 forward scribble on: row buffers, [rows, …] each, grown to what calls need.
#pragma once

#include <vector>

#include "kernels/row_buffer.h"
#include "model/rope.h"
#include "tensor/dtype.h"

namespace paceline {

struct Gemma4Scratch {
  kernels::RowBuffer normed, q, k, v, attended, branch, ffn;
  kernels::RowBuffer routed, expert_in, expert_out, scores, share, chosen;
  kernels::RowBuffer ple, ple_rows, ple_row_tokens;
  RopeRows rope_sliding, rope_global;
  std::vector<TokenId> ple_tokens;
};

}  // namespace paceline
