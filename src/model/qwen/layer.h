// A layer of the Qwen family: x += mixer(norm(x)), x += feed_forward(norm(x)).
#pragma once

#include "model/layer.h"
#include "model/qwen/attention.h"
#include "model/qwen/delta.h"
#include "model/qwen/feed_forward.h"
#include "model/qwen/scratch.h"
#include "model/qwen/weights.h"

namespace paceline::qwen {

class QwenLayer : public Layer {
 public:
  // All outlive it. expert_scale: [experts], ones.
  QwenLayer(const QwenConfig& config, const LayerWeights& weights, const Vector& expert_scale, const Machinery& with);

  // In a stack, with what the sequences' caches remember for this layer.
  void set_place(int32_t index) { index_ = index; }
  void run(LayerRows& rows) override;
  // Attention, with pages of the spans' own in this form.
  void run(LayerRows& rows, const kernels::HeadShape& shape);

 private:
  template <class Mix>
  void run_halves(LayerRows& r, Mix mix);

  const QwenConfig& c_;
  const LayerWeights& l_;
  int32_t index_ = 0;
  Machinery m_;
  Attention attention_;
  Delta delta_;
  FeedForward feed_forward_;
};

}  // namespace paceline::qwen
