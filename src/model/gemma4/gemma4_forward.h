// Gemma 4's forward: embeddings, layers, head.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "kernels/ops.h"
#include "model/forward.h"
#include "model/gemma4/scratch.h"
#include "model/gemma4/weights.h"
#include "model/layer.h"

namespace paceline {

// What embeddings of this width are multiplied with: its square root. In bf16 the reference rounds the factor too.
float embedding_scale(int32_t width, Precision precision);

class Gemma4Forward : public Forward {
 public:
  // kv: none: what the precision says.
  Gemma4Forward(const std::shared_ptr<const Gemma4Weights>& weights, kernels::Ops& ops, Precision precision,
                const std::optional<KvFormats>& kv = {});

 protected:
  ForwardRows pass(const ForwardInput& in) override;

 private:
  void embed(const ForwardInput& in);
  const TokenId* picked(const ForwardInput& in, std::span<const TokenId> given, kernels::RowBuffer& buffer);
  const TokenId* per_layer_tokens(const ForwardInput& in);
  void embed_per_layer(const ForwardInput& in);
  void tap(const ForwardInput& in, int32_t i);
  ForwardRows head(const ForwardInput& in, size_t extra_bytes);
  float* sized(kernels::RowBuffer& buffer, int64_t floats) { return buffer.sized(ops(), floats); }

  const Gemma4Weights& w_;
  const Gemma4Config& c_;
  kernels::Activation act_;
  Gemma4Scratch s_;
  LayerStack layers_;

  // This call's.
  int32_t rows_ = 0;
  const TokenId* tokens_ = nullptr;  // [rows]
  float* x_ = nullptr;               // [rows, hidden]: the residual stream
};

}  // namespace paceline
