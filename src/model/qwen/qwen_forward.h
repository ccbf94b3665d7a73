// The forward of the Qwen family: embeddings, layers, head.
#pragma once

#include <memory>
#include <optional>

#include "model/qwen/scratch.h"
#include "model/qwen/weights.h"
#include "model/stack_forward.h"

namespace paceline::qwen {

class QwenForward : public StackForward {
 public:
  // kv: none: what the precision says.
  QwenForward(const std::shared_ptr<const QwenWeights>& weights, kernels::Ops& ops, Precision precision,
              const std::optional<KvFormats>& kv = {});

 protected:
  void prepare(const ForwardInput& in) override;

 private:
  Scratch s_;
};

}  // namespace paceline::qwen
