// What a Gemma 4 config.json says of the text model, with both spellings resolved and every number checked.
#pragma once

#include <cstdint>
#include <vector>

#include "model/config.h"

namespace paceline {

enum class LayerKind : uint8_t { sliding, global };

struct LayerConfig {
  LayerKind kind = LayerKind::sliding;
  int32_t head_dim = 0;
  int32_t kv_heads = 0;
  int32_t ffn = 0;            // width of the dense FFN, doubling applied
  int32_t kv_layer = 0;       // the layer whose keys and values this one reads: itself, or an earlier one when shared
  bool value_is_key = false;  // no v_proj: V is the raw K projection

  bool operator==(const LayerConfig&) const = default;
};

struct Gemma4Config : ModelConfig {
  int32_t heads = 0;
  int32_t window = 0;
  float rms_eps = 1e-6f;
  float softcap = 0;  // 0: none
  RopeConfig rope_sliding, rope_global;
  std::vector<LayerConfig> layers;

  int32_t experts = 0;  // 0: dense
  int32_t experts_per_token = 0;
  int32_t expert_ffn = 0;

  int32_t ple_width = 0;  // 0: no per-layer embeddings
  int32_t ple_vocab = 0;

  bool tied_head = true;
  bool both_ways_globally = false;  // images_see_both_ways holds in global layers, too, not in sliding ones alone

  // MLX quantisation as config.json declares it; 0: none. Per-tensor overrides are seen from the shapes.
  int32_t quant_bits = 0;
  int32_t quant_group = 0;

  [[nodiscard]] int32_t layer_count() const { return static_cast<int32_t>(layers.size()); }

  bool operator==(const Gemma4Config&) const = default;
};

}  // namespace paceline
