// The weights of a model's own drafter, which lie in the model's checkpoint: one more layer of attention, which reads
// what the next token is and what the model made of the tokens before.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/qwen/weights.h"

namespace paceline::qwen {

struct MtpWeights {
  Matrix join;                         // [hidden, 2 * hidden]: the token's embedding, then the model's state
  Vector embedding_norm, hidden_norm;  // [hidden]
  LayerWeights layer;
  Vector final_norm;  // [hidden]

  // Who placed the matrices (kernels::Ops::placed_tag); none: they lie as in the checkpoint.
  const void* placed = nullptr;
  std::vector<std::shared_ptr<const void>> owners;
  std::shared_ptr<const Checkpoint> checkpoint;
};

// Whether a model's checkpoint has one.
bool has_mtp(const QwenWeights& target);
Result<std::shared_ptr<const MtpWeights>> bind_mtp(const QwenWeights& target, ThreadPool& pool);
std::shared_ptr<const MtpWeights> place_mtp(std::shared_ptr<const MtpWeights> weights, kernels::Ops& ops);

}  // namespace paceline::qwen
