// A layer of Gemma 4: attention, then a dense part or a mixture of experts, then per-layer embeddings where the model
// has them; each branch is normed before it is added.
#pragma once

#include "kernels/ops.h"
#include "model/gemma4/scratch.h"
#include "model/gemma4/weights.h"
#include "model/layer.h"

namespace paceline {

class Gemma4Layer : public Layer {
 public:
  struct Backend {
    kernels::Ops& ops;
    Precision precision;
  };
  // All outlive it.
  Gemma4Layer(const Gemma4Weights& weights, int32_t index, const Backend& backend, Gemma4Scratch& scratch);

  void run(LayerRows& rows) override;

 private:
  void attention(LayerRows& r);
  void feed_forward(LayerRows& r);
  void mixture(LayerRows& r, float* wide, const kernels::AddNormArgs& add);
  void count_experts(LayerRows& r, const int32_t* chosen) const;
  void per_layer_input(LayerRows& r);
  void norm(const LayerRows& r, const Vector& weight);
  float* sized(kernels::RowBuffer& buffer, int64_t floats) { return buffer.sized(ops_, floats); }

  const Gemma4Config& c_;
  const LayerWeights& l_;
  const LayerConfig& lc_;
  const Vector& k_norm_;  // of the keys that it reads
  int32_t index_;
  kernels::Ops& ops_;
  kernels::Activation act_;
  Gemma4Scratch& s_;
  float* normed_ = nullptr;  // [rows, hidden]
  float* branch_ = nullptr;  // [rows, hidden]: what is about to be added to x
};

}  // namespace paceline
