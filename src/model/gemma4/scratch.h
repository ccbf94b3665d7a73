// What calls of a Gemma 4 forward scribble on: row buffers, [rows, …] each, grown to what calls need.
#pragma once

#include <vector>

#include "kernels/row_buffer.h"
#include "model/rope.h"
#include "model/row_places.h"

namespace paceline {

struct Gemma4Scratch {
  kernels::RowBuffer x, normed, q, k, v, attended, branch, ffn, hidden, head_rows, logits, taps;
  kernels::RowBuffer routed, expert_in, expert_out, scores, share, chosen;
  kernels::RowBuffer ple, ple_rows, tokens, ple_row_tokens;
  RowPlaces places;
  RopeRows rope_sliding, rope_global;
  std::vector<TokenId> ple_tokens;
};

}  // namespace paceline
