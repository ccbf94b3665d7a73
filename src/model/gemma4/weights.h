// The text model's weights, bound: every matrix and vector that forward reads, as views into the checkpoint's mapped
// files (or into `owned` where bytes had to be rearranged). Immutable once made, shared between engines.
#pragma once

#include <memory>
#include <vector>

#include "model/gemma4/config.h"
#include "model/gemma4/state_of.h"
#include "model/model_weights.h"
#include "model/vector.h"
#include "tensor/matrix.h"
#include "weights/checkpoint.h"

namespace paceline {

struct LayerWeights {
  Vector input_norm, post_attention_norm, pre_ffn_norm, post_ffn_norm;  // [hidden]
  Vector q_norm, k_norm;                                                // [head_dim]; k_norm empty where KV is shared
  Matrix q, k, v, o;  // k, v absent where KV is shared; v where V is K
  Matrix gate, up, down;
  float layer_scalar = 1.0f;

  // Mixture of experts; absent in dense models.
  Vector post_ffn_norm_1, pre_ffn_norm_2, post_ffn_norm_2;  // [hidden]
  Vector router_scale;                                      // [hidden]
  Vector per_expert_scale;                                  // [experts]
  Matrix router;                                            // [experts, hidden]
  MatrixStack expert_gate, expert_up;                       // [experts] of [expert_ffn, hidden]
  MatrixStack expert_down;                                  // [experts] of [hidden, expert_ffn]
  [[nodiscard]] size_t one_expert_bytes() const;
  // Everything that every step reads; experts apart.
  [[nodiscard]] size_t shared_bytes() const;

  // Per-layer embeddings; absent elsewhere.
  Matrix ple_gate;        // [ple_width, hidden]
  Matrix ple_projection;  // [hidden, ple_width]
  Vector post_ple_norm;   // [hidden]
};

struct Gemma4Weights : ModelWeights {
  Gemma4Config config;
  Matrix embedding;   // [vocab, hidden]
  Matrix head;        // the embedding again where tied
  Vector final_norm;  // [hidden]
  std::vector<LayerWeights> layers;

  Matrix ple_embedding;         // [ple_vocab, layers * ple_width]
  Matrix ple_model_projection;  // [layers * ple_width, hidden]
  Vector ple_projection_norm;   // [ple_width]

  // Who placed the matrices (kernels::Ops::placed_tag); none: they lie as in the checkpoint.
  const void* placed = nullptr;
  // Whatever keeps the views above alive: mapped files, rearranged copies.
  std::vector<std::shared_ptr<const void>> owners;
  // The files that matrices may lie in; none where they were made in memory.
  std::shared_ptr<const Checkpoint> checkpoint;

  [[nodiscard]] const ModelConfig& facts() const override { return config; }
  [[nodiscard]] ModelState state() const override { return state_of(config); }
  [[nodiscard]] Status check(const kernels::Limits& limits) const override;
  [[nodiscard]] std::shared_ptr<const ModelWeights> placed_for(kernels::Ops& ops,
                                                               const PlaceProgress& progress = {}) const override;
  [[nodiscard]] std::unique_ptr<Forward> make_forward(kernels::Ops& ops, Precision precision,
                                                      const std::optional<KvFormats>& kv = {}) const override;
  [[nodiscard]] LentEnds lent_ends() const override;
  [[nodiscard]] size_t bytes_per_decode() const override;
  [[nodiscard]] size_t total_bytes() const override;
};

// None where it is another family's.
std::shared_ptr<const Gemma4Weights> as_gemma4(const std::shared_ptr<const ModelWeights>& weights);

}  // namespace paceline
