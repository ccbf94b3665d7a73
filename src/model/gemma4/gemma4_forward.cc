#include "model/gemma4/gemma4_forward.h"

#include <algorithm>
#include <cmath>

#include "model/gemma4/layer.h"

namespace paceline {

using kernels::Projection;

float embedding_scale(int32_t width, Precision precision) {
  const float exact = std::sqrt(static_cast<float>(width));
  return precision == Precision::f32 ? exact : bf16_to_f32(f32_to_bf16(exact));
}

Gemma4Forward::Gemma4Forward(const std::shared_ptr<const Gemma4Weights>& weights, kernels::Ops& ops,
                             Precision precision, const std::optional<KvFormats>& kv)
    : StackForward(weights->placed_for(ops), ops, precision, kv),
      w_(static_cast<const Gemma4Weights&>(*this->weights())),
      c_(w_.config) {
  ends_ = {&w_.embedding, embedding_scale(c_.hidden, precision), &w_.final_norm, c_.rms_eps, &w_.head, c_.softcap};
  for (int32_t i = 0; i < c_.layer_count(); ++i)
    layers_.push_back(std::make_unique<Gemma4Layer>(w_, i, Gemma4Layer::Backend{ops, precision}, s_));
}

void Gemma4Forward::prepare(const ForwardInput& in) {
  s_.rope_sliding.set(places_.positions());
  s_.rope_global.set(places_.positions());
  if (c_.ple_width > 0) embed_per_layer(in);
}

// Per-layer embeddings know no soft tokens: these take the pad token's.
const TokenId* Gemma4Forward::per_layer_tokens(const ForwardInput& in) {
  if (places_.soft().empty()) return tokens_;
  s_.ple_tokens.assign(in.tokens.begin(), in.tokens.end());
  for (const SoftRows& soft : places_.soft())
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

}  // namespace paceline
