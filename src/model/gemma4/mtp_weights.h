// The MTP drafter's weights, bound: four small layers with queries only, which read the target's keys and values.
// Immutable once made, shared between engines.
#pragma once

#include <memory>
#include <vector>

#include "model/gemma4/config_reader.h"
#include "model/gemma4/weights.h"

namespace paceline {

struct MtpWeights {
  AssistantConfig config;
  Matrix pre_projection;             // [hidden, 2 * backbone]: the target's embedding, then its hidden state
  Matrix post_projection;            // [backbone, hidden]
  std::vector<LayerWeights> layers;  // without keys and values
  Vector final_norm;                 // [hidden]

  Matrix head;  // [vocab, hidden]: its own embedding; absent with ordered embeddings

  // Ordered embeddings: the vocabulary in clusters, of which only the best are scored; absent elsewhere.
  Matrix centroids;      // [centroids, hidden]
  MatrixStack clusters;  // [centroids] of [vocab / centroids, hidden]: the embedding's rows, cluster by cluster
  std::vector<TokenId> cluster_tokens;             // [centroids, vocab / centroids]: whose rows those are
  const TokenId* placed_cluster_tokens = nullptr;  // the same, once placed, where operations read them

  // Who placed the matrices (kernels::Ops::placed_tag); none: they lie as in the checkpoint.
  const void* placed = nullptr;
  std::vector<std::shared_ptr<const void>> owners;
  // The files that matrices may lie in; none where they were made in memory.
  std::shared_ptr<const Checkpoint> checkpoint;
  // Keeps `clusters` alive until they are placed.
  std::shared_ptr<const void> cluster_rows;

  [[nodiscard]] int32_t cluster_size() const { return clusters.first.rows; }
  // Bytes that drafting one token for one sequence reads.
  [[nodiscard]] size_t bytes_per_draft() const;
  [[nodiscard]] size_t total_bytes() const;
};

}  // namespace paceline
