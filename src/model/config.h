// What a Gemma 4 config.json says of the text model, with both spellings resolved and every number checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/dtype.h"

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

struct RopeConfig {
  double theta = 10000.0;
  // Of the head dim's pairs, those below rotated_pairs(head_dim) turn; the divisor of the exponent stays head_dim.
  double partial_factor = 1.0;

  bool operator==(const RopeConfig&) const = default;
};

// Ids that the checkpoint names; -1 where it names none.
struct TokenIds {
  TokenId pad = -1, bos = -1;
  TokenId image_begin = -1, image = -1, image_end = -1;
  TokenId audio_begin = -1, audio = -1, audio_end = -1;
  TokenId video = -1;

  bool operator==(const TokenIds&) const = default;
};

struct ModelConfig {
  std::string model_type;  // of the top level: gemma4, gemma4_unified, gemma4_text, …
  int32_t hidden = 0;
  int32_t heads = 0;
  int32_t vocab = 0;
  int32_t window = 0;
  int32_t context = 0;
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
  bool images_see_both_ways = false;  // in sliding layers, tokens of one image see each other
  bool both_ways_globally = false;    // and in global layers
  TokenIds ids;
  std::vector<TokenId> stop_ids;  // config's eos and generation_config's, sorted, unique
  // generation_config's sampling defaults, or Gemma's.
  float temperature = 1.0f;
  int32_t top_k = 64;
  float top_p = 0.95f;

  // MLX quantisation as config.json declares it; 0: none. Per-tensor overrides are seen from the shapes.
  int32_t quant_bits = 0;
  int32_t quant_group = 0;

  [[nodiscard]] int32_t layer_count() const { return static_cast<int32_t>(layers.size()); }

  bool operator==(const ModelConfig&) const = default;
};

}  // namespace paceline
