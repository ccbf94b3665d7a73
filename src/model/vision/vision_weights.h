// The vision side's weights, bound: the tower or the embedder, and the projector into the text model.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/vector.h"
#include "model/vision/vision_config.h"
#include "tensor/matrix.h"
#include "weights/checkpoint.h"

namespace paceline {

struct ClampRange {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

struct VisionLinear {
  Matrix weight;
  ClampRange input, output;  // without clipping: everything passes
};

struct VisionLayer {
  Vector input_norm, post_attention_norm, pre_ffn_norm, post_ffn_norm;  // [hidden]
  Vector q_norm, k_norm;                                                // [head_dim]
  VisionLinear q, k, v, o, gate, up, down;
};

struct VisionWeights {
  VisionConfig config;
  int32_t text_hidden = 0;
  Matrix input;       // tower: [hidden, patch values]; embedder: patch_dense, [hidden, token values]
  Matrix positions;   // [2 * config.positions, hidden]; see column_row and row_row
  Matrix projection;  // [text_hidden, hidden]

  // The tower's.
  std::vector<VisionLayer> layers;
  Vector shift, scale;  // [hidden], where standardised: what is added, and then multiplied with

  // The embedder's.
  struct Norm {
    Vector weight, bias;
  };
  Norm patch_norm;                      // [token values]
  Vector input_bias;                    // [hidden]
  Norm embedded_norm, positioned_norm;  // [hidden]

  const void* placed = nullptr;
  std::vector<std::shared_ptr<const void>> owners;

  // Which rows of `positions` belong to a column and to a row of the grid.
  [[nodiscard]] int32_t column_row(int32_t column) const {
    return config.kind == VisionKind::tower ? column : 2 * column;
  }
  [[nodiscard]] int32_t row_row(int32_t row) const {
    return config.kind == VisionKind::tower ? config.positions + row : 2 * row + 1;
  }
};

// An error where the checkpoint has no vision side, or one that does not fit its config.
Result<std::shared_ptr<const VisionWeights>> load_vision_weights(const std::shared_ptr<const Checkpoint>& checkpoint,
                                                                 int32_t text_hidden, ThreadPool& pool);

}  // namespace paceline
