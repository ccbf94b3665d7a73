// Attention of the Qwen family: norms of queries and keys, rotation of a part of each head, and in newer models a gate
// for every number that comes out.
#pragma once

#include <span>

#include "kernels/ops.h"
#include "model/qwen/scratch.h"
#include "model/qwen/weights.h"

namespace paceline::qwen {

class Attention {
 public:
  Attention(const QwenConfig& config, const AttentionWeights& weights, const Machinery& with)
      : c_(config), w_(weights), m_(with) {}

  struct Rows {
    const float* x = nullptr;  // [rows, hidden], normed
    float* y = nullptr;        // [rows, hidden]
    int32_t rows = 0;
    kernels::HeadShape shape;
    std::span<const kernels::SeqSpan> seqs;  // with the pages that the layer writes
  };
  // The rotations of these rows are the scratch memory's.
  void run(const Rows& rows);

 private:
  void project(const Rows& r, float* q, float* k, float* v);

  const QwenConfig& c_;
  const AttentionWeights& w_;
  Machinery m_;
};

}  // namespace paceline::qwen
