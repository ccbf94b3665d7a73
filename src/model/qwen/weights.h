// The text model's weights, bound: every matrix and vector that forward reads, as views into the checkpoint's mapped
// files (or into `owners` where bytes had to be rearranged). Immutable once made, shared between engines.
#pragma once

#include <memory>
#include <vector>

#include "model/model_weights.h"
#include "model/placing.h"
#include "model/qwen/config.h"
#include "model/vector.h"
#include "tensor/matrix.h"
#include "weights/checkpoint.h"

namespace paceline::qwen {

struct AttentionWeights {
  Matrix q, k, v, o;      // q with the gates: of each head the query's rows, then the gate's
  Vector q_norm, k_norm;  // [head_dim]; q_norm has attention's scale in it
};

struct DeltaWeights {
  Matrix qkv, z, a, b, out;
  Vector taps;  // [kernel, channels]
  Vector rate;  // [value_heads]: -exp(A_log)
  Vector bias;  // [value_heads]
  Vector norm;  // [value_dim]
};

struct FeedForwardWeights {
  Matrix gate, up, down;  // the dense part, or the shared expert
  Matrix shared_gate;     // [1, hidden], of the shared expert

  Matrix router;                       // [experts, hidden]
  MatrixStack expert_gate, expert_up;  // [experts] of [expert_ffn, hidden]
  MatrixStack expert_down;             // [experts] of [hidden, expert_ffn]
  [[nodiscard]] size_t one_expert_bytes() const;
};

// Of attention and delta only one is there.
struct LayerWeights {
  Vector input_norm, post_attention_norm;  // [hidden]
  AttentionWeights attention;
  DeltaWeights delta;
  FeedForwardWeights ffn;

  // Everything that every step reads; experts apart.
  [[nodiscard]] size_t shared_bytes() const;
  [[nodiscard]] std::vector<Matrix*> matrices();
  [[nodiscard]] std::vector<const Matrix*> matrices() const;
  [[nodiscard]] std::vector<Vector*> vectors();
};

struct QwenWeights : ModelWeights {
  QwenConfig config;
  Matrix embedding;     // [vocab, hidden]
  Matrix head;          // the embedding again where tied
  Vector final_norm;    // [hidden]
  Vector expert_scale;  // [experts]: ones
  std::vector<LayerWeights> layers;

  // Who placed the matrices (kernels::Ops::placed_tag); none: they lie as in the checkpoint.
  const void* placed = nullptr;
  // Whatever keeps the views above alive: mapped files, rearranged copies.
  std::vector<std::shared_ptr<const void>> owners;
  // The files that matrices may lie in; none where they were made in memory.
  std::shared_ptr<const Checkpoint> checkpoint;

  [[nodiscard]] const ModelConfig& facts() const override { return config; }
  [[nodiscard]] ModelState state() const override;
  [[nodiscard]] Status check(const kernels::Limits& limits) const override;
  [[nodiscard]] std::shared_ptr<const ModelWeights> placed_for(kernels::Ops& ops,
                                                               const PlaceProgress& progress = {}) const override;
  [[nodiscard]] std::unique_ptr<Forward> make_forward(kernels::Ops& ops, Precision precision,
                                                      const std::optional<KvFormats>& kv = {}) const override;
  [[nodiscard]] LentEnds lent_ends() const override;
  [[nodiscard]] size_t bytes_per_decode() const override;
  [[nodiscard]] size_t total_bytes() const override;
};

void place_layer(Placing& placing, LayerWeights& layer);

// None where it is another family's.
std::shared_ptr<const QwenWeights> as_qwen(const std::shared_ptr<const ModelWeights>& weights);

}  // namespace paceline::qwen
