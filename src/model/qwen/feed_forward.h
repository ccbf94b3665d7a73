// The half of a layer behind the mixer: a gated FFN, or experts, of which one may be every row's.
#pragma once

#include "kernels/ops.h"
#include "model/qwen/scratch.h"
#include "model/qwen/weights.h"

namespace paceline::qwen {

class FeedForward {
 public:
  // expert_scale: [experts], ones.
  FeedForward(const QwenConfig& config, const FeedForwardWeights& weights, const Vector& expert_scale,
              const Machinery& with)
      : c_(config), w_(weights), expert_scale_(expert_scale), m_(with) {}

  struct Rows {
    const float* x = nullptr;  // [rows, hidden], normed
    float* y = nullptr;        // [rows, hidden]
    int32_t rows = 0;
  };
  // Bytes of weights read beyond what one row reads.
  size_t run(const Rows& rows);

 private:
  void dense(const Rows& r, float* y);
  size_t experts(const Rows& r);
  void add_shared(const Rows& r);

  const QwenConfig& c_;
  const FeedForwardWeights& w_;
  const Vector& expert_scale_;
  Machinery m_;
};

}  // namespace paceline::qwen
