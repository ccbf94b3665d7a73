// Gated DeltaNet as a layer's mixer: projections around one operation of the backend, and which states it works on.
#pragma once

#include "kernels/recurrent_ops.h"
#include "model/layer.h"
#include "model/qwen/scratch.h"
#include "model/qwen/weights.h"

namespace paceline::qwen {

class Delta {
 public:
  Delta(const QwenConfig& config, const DeltaWeights& weights, const Machinery& with)
      : c_(config), w_(weights), m_(with) {}

  // x, y: [rows, hidden]; x normed. layer: whose states they are.
  void run(const LayerRows& rows, int32_t layer, const float* x, float* y);

 private:
  const QwenConfig& c_;
  const DeltaWeights& w_;
  Machinery m_;
};

}  // namespace paceline::qwen
