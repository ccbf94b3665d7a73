// The text model's weights, bound: every matrix and vector that forward reads, as views into the checkpoint's mapped
// files (or into `owned` where bytes had to be rearranged). Immutable once made, shared between engines.
#pragma once

#include <memory>
#include <vector>

#include "model/config.h"
#include "tensor/matrix.h"
#include "weights/checkpoint.h"

namespace paceline {

// Norm weights and other short vectors, as float32.
class Vector : public std::vector<float> {
 public:
  using std::vector<float>::vector;

  // Where operations read it: in the memory of the backend that it was placed in, or here.
  [[nodiscard]] const float* for_ops() const { return placed_ != nullptr ? placed_ : data(); }
  void set_placed(const float* at) { placed_ = at == data() ? nullptr : at; }

 private:
  const float* placed_ = nullptr;
};

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

struct TextWeights {
  ModelConfig config;
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

  // Bytes a plain decode step of one row reads: every matrix once, of the experts only those chosen, one row of
  // each embedding.
  [[nodiscard]] size_t bytes_per_decode() const;
  [[nodiscard]] size_t total_bytes() const;
};

}  // namespace paceline
