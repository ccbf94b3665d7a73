#include "model/gemma4/gemma4_forward.h"

#include <algorithm>
#include <cmath>

#include "model/gemma4/layer.h"

namespace paceline {

using kernels::Projection;
using kernels::RowBuffer;

float embedding_scale(int32_t width, Precision precision) {
  const float exact = std::sqrt(static_cast<float>(width));
  return precision == Precision::f32 ? exact : bf16_to_f32(f32_to_bf16(exact));
}

Gemma4Forward::Gemma4Forward(const std::shared_ptr<const Gemma4Weights>& weights, kernels::Ops& ops,
                             Precision precision, const std::optional<KvFormats>& kv)
    : Forward(weights->placed_for(ops), ops, precision, kv.value_or(kv_dtype_of(precision))),
      w_(static_cast<const Gemma4Weights&>(*this->weights())),
      c_(w_.config),
      act_(precision == Precision::f32 ? kernels::Activation::f32 : kernels::Activation::bf16) {
  for (int32_t i = 0; i < c_.layer_count(); ++i)
    layers_.push_back(std::make_unique<Gemma4Layer>(w_, i, Gemma4Layer::Backend{ops, precision}, s_));
}

ForwardRows Gemma4Forward::pass(const ForwardInput& in) {
  rows_ = static_cast<int32_t>(in.tokens.size());
  s_.places.place(in, c_.hidden, c_.images_see_both_ways);
  s_.rope_sliding.set(s_.places.positions());
  s_.rope_global.set(s_.places.positions());
  embed(in);
  LayerRows rows{rows_, x_, in.seqs, s_.places.spans(), s_.places.last_pos()};
  for (size_t i = 0; i < layers_.size(); ++i) {
    tap(in, static_cast<int32_t>(i));
    layers_[i]->run(rows);
  }
  tap(in, c_.layer_count());
  return head(in, rows.extra_bytes);
}

void Gemma4Forward::embed(const ForwardInput& in) {
  x_ = sized(s_.x, static_cast<int64_t>(rows_) * c_.hidden);
  tokens_ = picked(in, in.tokens, s_.tokens);
  ops().embed(w_.embedding, tokens_, rows_, embedding_scale(c_.hidden, precision()), x_);
  for (const SoftRows& soft : s_.places.soft())
    ops().upload(x_ + static_cast<int64_t>(soft.first_row) * c_.hidden, soft.embeddings,
                 static_cast<size_t>(soft.count) * static_cast<size_t>(c_.hidden) * sizeof(float));
  if (c_.ple_width > 0) embed_per_layer(in);
}

const TokenId* Gemma4Forward::picked(const ForwardInput& in, std::span<const TokenId> given, RowBuffer& buffer) {
  auto* to = reinterpret_cast<TokenId*>(sized(buffer, rows_));
  ops().pick_tokens({given, in.drafted_at, in.drafted, to});
  return to;
}

// Per-layer embeddings know no soft tokens: these take the pad token's.
const TokenId* Gemma4Forward::per_layer_tokens(const ForwardInput& in) {
  if (s_.places.soft().empty()) return tokens_;
  s_.ple_tokens.assign(in.tokens.begin(), in.tokens.end());
  for (const SoftRows& soft : s_.places.soft())
    std::fill_n(s_.ple_tokens.begin() + soft.first_row, soft.count, std::max(c_.ids.pad, TokenId{0}));
  return picked(in, s_.ple_tokens, s_.ple_row_tokens);
}

// ple [rows, layers, width] = (norm(project(x) / sqrt(hidden)) + embedding * sqrt(width)) / sqrt(2)
void Gemma4Forward::embed_per_layer(const ForwardInput& in) {
  const int32_t width = c_.ple_width, all = c_.layer_count() * width;
  float* projected = sized(s_.ple, static_cast<int64_t>(rows_) * all);
  float* embedded = sized(s_.ple_rows, static_cast<int64_t>(rows_) * all);
  const Projection out{&w_.ple_model_projection, projected};
  ops().linear(x_, rows_, act_, {&out, 1});
  // eps belongs to the scaled value, norm(x * f) = norm(x) with eps / f^2.
  const float eps = c_.rms_eps * static_cast<float>(c_.hidden);
  ops().rms_norm({projected, w_.ple_projection_norm.for_ops(), projected, rows_ * c_.layer_count(), width, eps, 1.0f});
  ops().embed(w_.ple_embedding, per_layer_tokens(in), rows_, embedding_scale(width, precision()), embedded);
  ops().add_scaled(projected, embedded, static_cast<float>(M_SQRT1_2), static_cast<int64_t>(rows_) * all);
}

void Gemma4Forward::tap(const ForwardInput& in, int32_t i) {
  for (size_t t = 0; t < in.tap_layers.size(); ++t) {
    if (in.tap_layers[t] != i) continue;
    const int64_t floats = static_cast<int64_t>(rows_) * c_.hidden;
    float* taps = sized(s_.taps, floats * static_cast<int64_t>(in.tap_layers.size()));
    ops().copy(taps + static_cast<int64_t>(t) * floats, x_, static_cast<size_t>(floats) * sizeof(float));
  }
}

ForwardRows Gemma4Forward::head(const ForwardInput& in, size_t extra_bytes) {
  float* hidden = sized(s_.hidden, static_cast<int64_t>(rows_) * c_.hidden);
  ops().rms_norm({x_, w_.final_norm.for_ops(), hidden, rows_, c_.hidden, c_.rms_eps, 1.0f});
  ForwardRows out;
  out.weight_bytes = w_.bytes_per_decode() + extra_bytes;
  out.tokens = tokens_;
  out.hidden = hidden;
  if (!in.tap_layers.empty()) out.taps = s_.taps.data();
  const auto wanted = static_cast<int32_t>(in.logit_rows.size());
  if (wanted > 0) {
    float* rows = sized(s_.head_rows, static_cast<int64_t>(wanted) * c_.hidden);
    ops().gather(hidden, in.logit_rows, c_.hidden, rows);
    const int64_t floats = static_cast<int64_t>(wanted) * c_.vocab;
    float* logits = sized(s_.logits, floats);
    const Projection head{&w_.head, logits};
    ops().linear(rows, wanted, act_, {&head, 1});
    if (c_.softcap > 0) ops().softcap(logits, c_.softcap, floats);
    out.logits = logits;
  }
  return out;
}

}  // namespace paceline
