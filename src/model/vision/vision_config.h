// What a Gemma 4 config.json says of the vision side.
#pragma once

#include <cstdint>

#include "media/patches.h"

namespace paceline {

// A tower of encoder layers over patches, averaged to soft tokens; or (unified) one dense layer over whole tokens.
enum class VisionKind : uint8_t { tower, embedder };

struct VisionConfig {
  VisionKind kind = VisionKind::tower;
  PatchShape shape;
  int32_t hidden = 0;     // of the tower, or of the embedder
  int32_t positions = 0;  // columns, and rows, that there are embeddings for
  float rms_eps = 1e-6f;

  // The tower's own.
  int32_t layers = 0, heads = 0, head_dim = 0, ffn = 0;
  double rope_theta = 100.0;
  bool standardised = false;  // the averaged patches are shifted and scaled
  bool clipped = false;       // every linear clamps its input and output

  // Of the squares that go in.
  [[nodiscard]] int32_t side() const { return kind == VisionKind::tower ? shape.patch : shape.token_side(); }

  bool operator==(const VisionConfig&) const = default;
};

}  // namespace paceline
