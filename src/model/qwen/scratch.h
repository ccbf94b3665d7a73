// What calls of a Qwen forward scribble on: row buffers, [rows, …] each, grown to what calls need.
#pragma once

#include <vector>

#include "kernels/ops.h"
#include "kernels/recurrent_ops.h"
#include "kernels/row_buffer.h"
#include "model/rope.h"

namespace paceline::qwen {

struct Scratch {
  kernels::RowBuffer normed, branch, q, k, v, gate, joined, attended;
  kernels::RowBuffer ffn, shared, shared_gate, scores, share, chosen;
  kernels::RowBuffer delta_in, delta_y, delta_o, delta_z, delta_a, delta_b;
  RopeRows rope;
  std::vector<kernels::DeltaSpan> delta_spans;
};

// What all parts of a layer work with; all outlives them.
struct Machinery {
  kernels::Ops& ops;
  kernels::Activation act;
  Scratch& scratch;

  [[nodiscard]] float* sized(kernels::RowBuffer& buffer, int64_t floats) const { return buffer.sized(ops, floats); }
};

}  // namespace paceline::qwen
