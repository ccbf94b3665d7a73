// Gemma 4's forward: embeddings, layers, head.
#pragma once

#include <memory>
#include <optional>

#include "kernels/ops.h"
#include "model/gemma4/scratch.h"
#include "model/gemma4/weights.h"
#include "model/stack_forward.h"

namespace paceline {

// What embeddings of this width are multiplied with: its square root. In bf16 the reference rounds the factor too.
float embedding_scale(int32_t width, Precision precision);

class Gemma4Forward : public StackForward {
 public:
  // kv: none: what the precision says.
  Gemma4Forward(const std::shared_ptr<const Gemma4Weights>& weights, kernels::Ops& ops, Precision precision,
                const std::optional<KvFormats>& kv = {});

 protected:
  void prepare(const ForwardInput& in) override;

 private:
  const TokenId* per_layer_tokens(const ForwardInput& in);
  void embed_per_layer(const ForwardInput& in);

  const Gemma4Weights& w_;
  const Gemma4Config& c_;
  Gemma4Scratch s_;
};

}  // namespace paceline
