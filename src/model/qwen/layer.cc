#include "model/qwen/layer.h"

namespace paceline::qwen {

QwenLayer::QwenLayer(const QwenConfig& config, const LayerWeights& weights, const Vector& expert_scale,
                     const Machinery& with)
    : c_(config),
      l_(weights),
      m_(with),
      attention_(config, weights.attention, with),
      delta_(config, weights.delta, with),
      feed_forward_(config, weights.ffn, expert_scale, with) {}

template <class Mix>
void QwenLayer::run_halves(LayerRows& r, Mix mix) {
  float* normed = m_.sized(m_.scratch.normed, int64_t{r.rows} * c_.hidden);
  float* branch = m_.sized(m_.scratch.branch, int64_t{r.rows} * c_.hidden);
  const kernels::AddNormArgs add{r.x, branch, nullptr, r.rows, c_.hidden, c_.rms_eps, 1.0f};
  m_.ops.rms_norm({r.x, l_.input_norm.for_ops(), normed, r.rows, c_.hidden, c_.rms_eps, 1.0f});
  mix(normed, branch);
  m_.ops.add_norm(add);
  m_.ops.rms_norm({r.x, l_.post_attention_norm.for_ops(), normed, r.rows, c_.hidden, c_.rms_eps, 1.0f});
  r.extra_bytes += feed_forward_.run({normed, branch, r.rows});
  m_.ops.add_norm(add);
}

void QwenLayer::run(LayerRows& r) {
  if (c_.layers[static_cast<size_t>(index_)].mixer == Mixer::delta)
    return run_halves(r, [&](const float* x, float* y) { delta_.run(r, index_, x, y); });
  for (size_t s = 0; s < r.spans.size(); ++s) r.spans[s].pages = r.seqs[s].kv->pages(index_);
  run(r, r.seqs[0].kv->layout().layers[static_cast<size_t>(index_)].shape(c_.heads));
}

void QwenLayer::run(LayerRows& r, const kernels::HeadShape& shape) {
  run_halves(r, [&](const float* x, float* y) { attention_.run({x, y, r.rows, shape, r.spans}); });
}

}  // namespace paceline::qwen
