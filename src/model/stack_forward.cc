#include "model/stack_forward.h"

namespace paceline {

using kernels::Projection;
using kernels::RowBuffer;

StackForward::StackForward(std::shared_ptr<const ModelWeights> weights, kernels::Ops& ops, Precision precision,
                           const std::optional<KvFormats>& kv)
    : Forward(std::move(weights), ops, precision, kv.value_or(kv_dtype_of(precision))),
      act_(precision == Precision::f32 ? kernels::Activation::f32 : kernels::Activation::bf16) {}

ForwardRows StackForward::pass(const ForwardInput& in) {
  rows_ = static_cast<int32_t>(in.tokens.size());
  places_.place(in, config().hidden, config().images_see_both_ways);
  embed(in);
  prepare(in);
  LayerRows rows{rows_, x_, in.seqs, places_.spans(), places_.last_pos()};
  for (size_t i = 0; i < layers_.size(); ++i) {
    tap(in, static_cast<int32_t>(i));
    layers_[i]->run(rows);
  }
  tap(in, static_cast<int32_t>(layers_.size()));
  return head(in, rows.extra_bytes);
}

void StackForward::embed(const ForwardInput& in) {
  const int32_t hidden = config().hidden;
  x_ = sized(stream_, static_cast<int64_t>(rows_) * hidden);
  tokens_ = picked(in, in.tokens, row_tokens_);
  ops().embed(*ends_.embedding, tokens_, rows_, ends_.embedding_scale, x_);
  for (const SoftRows& soft : places_.soft())
    ops().upload(x_ + static_cast<int64_t>(soft.first_row) * hidden, soft.embeddings,
                 static_cast<size_t>(soft.count) * static_cast<size_t>(hidden) * sizeof(float));
}

const TokenId* StackForward::picked(const ForwardInput& in, std::span<const TokenId> given, RowBuffer& buffer) {
  auto* to = reinterpret_cast<TokenId*>(sized(buffer, rows_));
  ops().pick_tokens({given, in.drafted_at, in.drafted, to});
  return to;
}

void StackForward::tap(const ForwardInput& in, int32_t i) {
  for (size_t t = 0; t < in.tap_layers.size(); ++t) {
    if (in.tap_layers[t] != i) continue;
    const int64_t floats = static_cast<int64_t>(rows_) * config().hidden;
    float* taps = sized(taps_, floats * static_cast<int64_t>(in.tap_layers.size()));
    ops().copy(taps + static_cast<int64_t>(t) * floats, x_, static_cast<size_t>(floats) * sizeof(float));
  }
}

ForwardRows StackForward::head(const ForwardInput& in, size_t extra_bytes) {
  const int32_t width = config().hidden;
  float* hidden = sized(hidden_, static_cast<int64_t>(rows_) * width);
  ops().rms_norm({x_, ends_.final_norm->for_ops(), hidden, rows_, width, ends_.rms_eps, 1.0f});
  ForwardRows out;
  out.weight_bytes = weights()->bytes_per_decode() + extra_bytes;
  out.tokens = tokens_;
  out.hidden = hidden;
  if (!in.tap_layers.empty()) out.taps = taps_.data();
  const auto wanted = static_cast<int32_t>(in.logit_rows.size());
  if (wanted > 0) {
    float* rows = sized(head_rows_, static_cast<int64_t>(wanted) * width);
    ops().gather(hidden, in.logit_rows, width, rows);
    const int64_t floats = static_cast<int64_t>(wanted) * config().vocab;
    float* logits = sized(logits_, floats);
    const Projection out_head{ends_.head, logits};
    ops().linear(rows, wanted, act_, {&out_head, 1});
    if (ends_.softcap > 0) ops().softcap(logits, ends_.softcap, floats);
    out.logits = logits;
  }
  return out;
}

}  // namespace paceline
