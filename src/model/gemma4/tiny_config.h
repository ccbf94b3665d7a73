// Small models with every kind of layer, for tests. Widths are multiples of 32, so that quantised groups fit.
#pragma once

#include <string_view>

#include "model/gemma4/config.h"

namespace paceline {

// Sliding layers, with every third and the last one global.
struct TinyLayers {
  int32_t count, per_global;
  int32_t head_sliding, head_global;
  int32_t kv_sliding, kv_global;
  int32_t ffn;
  int32_t shared = 0;  // last layers that read an earlier layer's KV; their FFN is twice as wide
  bool value_is_key = false;
};

inline void add_layers(const TinyLayers& shape, Gemma4Config& c) {
  int32_t last_of_kind[2] = {0, 0};
  for (int32_t i = 0; i < shape.count; ++i) {
    const bool global = (i + 1) % shape.per_global == 0 || i + 1 == shape.count;
    const bool shares = i >= shape.count - shape.shared;
    if (!shares) last_of_kind[global ? 1 : 0] = i;
    LayerConfig layer;
    layer.kind = global ? LayerKind::global : LayerKind::sliding;
    layer.head_dim = global ? shape.head_global : shape.head_sliding;
    layer.kv_heads = global ? shape.kv_global : shape.kv_sliding;
    layer.ffn = shares ? 2 * shape.ffn : shape.ffn;
    layer.kv_layer = last_of_kind[global ? 1 : 0];
    layer.value_is_key = global && shape.value_is_key;
    c.layers.push_back(layer);
  }
}

// name: dense (V is K in global layers), moe (mixture of experts) or ple (per-layer embeddings, shared KV, wide FFN).
inline Gemma4Config tiny_config(std::string_view name, int32_t window) {
  Gemma4Config c;
  c.model_type = "gemma4_text";
  c.hidden = 64;
  c.heads = 4;
  c.vocab = 83;  // no multiple of any tile
  c.window = window;
  c.context = 4096;
  c.softcap = 30;
  c.rope_sliding = {10000.0, 1.0};
  c.rope_global = {1000000.0, 0.25};
  if (name == "dense") {
    c.hidden = 128;
    add_layers({6, 3, 32, 64, 2, 1, 192, 0, true}, c);
  } else if (name == "moe") {
    add_layers({4, 4, 16, 32, 2, 1, 96}, c);
    c.experts = 8;
    c.experts_per_token = 3;
    c.expert_ffn = 64;
  } else {
    c.heads = 6;
    add_layers({6, 3, 32, 64, 1, 1, 96, 3}, c);
    c.ple_width = 32;
    c.ple_vocab = c.vocab;
  }
  return c;
}

}  // namespace paceline
