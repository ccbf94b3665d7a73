// A DFlash drafter's weights, bound: a few layers of plain attention that read a cache of their own, without an
// embedding and a head. Immutable once made, shared between engines.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "kernels/ops.h"
#include "model/vector.h"
#include "speculate/dflash/dflash_config.h"
#include "tensor/matrix.h"
#include "weights/checkpoint.h"

namespace paceline {

// DFlash 2: one before a sublayer and one behind it, with coefficients that each row adds its own to.
struct DflashConv {
  Vector base;        // [2, taps, hidden]
  Matrix projection;  // [2 * taps * groups, hidden]
};

struct DflashLayer {
  Vector input_norm, post_attention_norm;  // [hidden]
  Vector q_norm, k_norm;                   // [head_dim]; queries' scaled for attention
  Matrix q, k, v, o;
  Vector q_bias, k_bias, v_bias, o_bias;  // where the config has biases
  Matrix gate, up, down;
  DflashConv attention_conv, mlp_conv;
};

struct DflashWeights {
  DflashConfig config;
  Matrix fc;           // [hidden, tapped * hidden]
  Vector hidden_norm;  // [hidden]
  Vector norm;         // [hidden]
  std::vector<DflashLayer> layers;

  // DFlash 2: how well a token follows another, beside what its row says.
  Matrix predecessors, successors;  // [vocab, rank]
  Matrix selector_projection;       // [rank, hidden]

  // Who placed the matrices (kernels::Ops::placed_tag); none: they lie as in the checkpoint.
  const void* placed = nullptr;
  std::vector<std::shared_ptr<const void>> owners;
  std::shared_ptr<const Checkpoint> checkpoint;

  [[nodiscard]] size_t total_bytes() const;
};

// For a target of that vocabulary and so many layers.
Result<std::shared_ptr<const DflashWeights>> bind_dflash_weights(std::shared_ptr<const Checkpoint> checkpoint,
                                                                 DflashConfig config, const ModelWeights& target,
                                                                 ThreadPool& pool);
// Checks that it fits, too.
Result<std::shared_ptr<const DflashWeights>> load_dflash(const std::filesystem::path& folder,
                                                         const ModelWeights& target, ThreadPool& pool);
std::shared_ptr<const DflashWeights> place_weights(std::shared_ptr<const DflashWeights> weights, kernels::Ops& ops);

}  // namespace paceline
