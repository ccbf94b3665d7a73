// What forwards of all families have in common: tokens are looked up, layers run one after another, the rows that are
// wanted go through the head.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/ops.h"
#include "kernels/row_buffer.h"
#include "model/forward.h"
#include "model/layer.h"
#include "model/row_places.h"
#include "model/vector.h"

namespace paceline {

// What stands around the layers; all of it outlives the forward.
struct StackEnds {
  const Matrix* embedding = nullptr;  // [vocab, hidden]
  float embedding_scale = 1;
  const Vector* final_norm = nullptr;  // [hidden]
  float rms_eps = 0;
  const Matrix* head = nullptr;  // [vocab, hidden]
  float softcap = 0;             // 0: none
};

class StackForward : public Forward {
 protected:
  // weights: placed for `ops`. Layers and ends are the family's to set.
  StackForward(std::shared_ptr<const ModelWeights> weights, kernels::Ops& ops, Precision precision,
               const std::optional<KvFormats>& kv);

  ForwardRows pass(const ForwardInput& in) override;
  // What layers read besides the rows, which have been looked up.
  virtual void prepare(const ForwardInput& in) = 0;

  // The host's tokens, but for those that only the backend knows.
  const TokenId* picked(const ForwardInput& in, std::span<const TokenId> given, kernels::RowBuffer& buffer);
  float* sized(kernels::RowBuffer& buffer, int64_t floats) { return buffer.sized(ops(), floats); }

  kernels::Activation act_;
  StackEnds ends_;
  LayerStack layers_;
  RowPlaces places_;

  // This call's.
  int32_t rows_ = 0;
  const TokenId* tokens_ = nullptr;  // [rows]
  float* x_ = nullptr;               // [rows, hidden]: the residual stream

 private:
  void embed(const ForwardInput& in);
  void tap(const ForwardInput& in, int32_t i);
  ForwardRows head(const ForwardInput& in, size_t extra_bytes);

  kernels::RowBuffer stream_, row_tokens_, hidden_, head_rows_, logits_, taps_;
};

}  // namespace paceline
