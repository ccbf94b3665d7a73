#include "model/qwen/qwen_forward.h"

#include "model/qwen/layer.h"

namespace paceline::qwen {

QwenForward::QwenForward(const std::shared_ptr<const QwenWeights>& weights, kernels::Ops& ops, Precision precision,
                         const std::optional<KvFormats>& kv)
    : StackForward(weights->placed_for(ops), ops, precision, kv) {
  const auto& w = static_cast<const QwenWeights&>(*this->weights());
  ends_ = {&w.embedding, 1.0f, &w.final_norm, w.config.rms_eps, &w.head, 0};
  for (int32_t i = 0; i < w.config.layer_count(); ++i) {
    auto layer = std::make_unique<QwenLayer>(w.config, w.layers[static_cast<size_t>(i)], w.expert_scale,
                                             Machinery{ops, act_, s_});
    layer->set_place(i);
    layers_.push_back(std::move(layer));
  }
}

void QwenForward::prepare(const ForwardInput& /*in*/) { s_.rope.set(places_.positions()); }

}  // namespace paceline::qwen
