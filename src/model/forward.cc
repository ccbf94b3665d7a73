#include "model/forward.h"

#include <algorithm>

#include "base/check.h"

namespace paceline {

Forward::Forward(std::shared_ptr<const ModelWeights> weights, kernels::Ops& ops, Precision precision,
                 const KvFormats& kv)
    : weights_(std::move(weights)),
      ops_(ops),
      precision_(precision),
      state_(weights_->state()),
      layout_(state_, kv, &ops) {}

int32_t Forward::add_draft_layers(std::span<const LayerState> layers, int32_t window) {
  CHECK(state_.draft_window == 0 || window == 0 || state_.draft_window == window);
  const auto first = static_cast<int32_t>(state_.layers.size());
  state_.draft_window = std::max(state_.draft_window, window);
  for (LayerState layer : layers) {
    layer.kv_layer = static_cast<int32_t>(state_.layers.size());
    layer.drafts = true;
    state_.layers.push_back(layer);
  }
  layout_ = KvLayout(state_, layout_.formats, &ops_);
  return first;
}

ForwardRows Forward::enqueue(const ForwardInput& input) {
  CHECK(!input.tokens.empty() && input.tokens.size() <= static_cast<size_t>(kMostForwardRows));
  CHECK(input.drafted_at.empty() || input.drafted_at.size() == input.tokens.size());
  const ForwardRows out = pass(input);
  for (const SeqRows& seq : input.seqs) seq.kv->commit(seq.count, seq.drafts);
  return out;
}

const Status& Forward::settle() {
  if (const Status waited = ops_.wait(); !waited.ok()) status_ = waited;
  return status_;
}

ForwardOutput Forward::run(const ForwardInput& input) {
  const ForwardRows rows = enqueue(input);
  const auto fetched = [&](const float* from, size_t count, int32_t width, kernels::HostCopy& copy) {
    if (from == nullptr) return from;
    return static_cast<const float*>(ops_.fetch(from, count * static_cast<size_t>(width) * sizeof(float), copy));
  };
  ForwardOutput out;
  out.hidden = rows.hidden;
  out.backend_taps = rows.taps;
  out.weight_bytes = rows.weight_bytes;
  const ModelConfig& c = config();
  const size_t tapped = input.tap_layers.size() * input.tokens.size();
  out.logits = fetched(rows.logits, input.logit_rows.size(), c.vocab, logits_copy_);
  out.taps = fetched(rows.taps, tapped, c.hidden, taps_copy_);
  if (!settle().ok()) {
    zeros_.assign(
        std::max(input.logit_rows.size() * static_cast<size_t>(c.vocab), tapped * static_cast<size_t>(c.hidden)), 0.0f);
    out.logits = out.taps = zeros_.data();
  }
  return out;
}

}  // namespace paceline
