#include "model/gemma4/state_of.h"

namespace paceline {

ModelState state_of(const Gemma4Config& config) {
  ModelState state{.window = config.window, .layers = {}};
  for (const LayerConfig& layer : config.layers) {
    const StateKind kind = layer.kind == LayerKind::global ? StateKind::paged : StateKind::window;
    const RopeConfig& rope = layer.kind == LayerKind::global ? config.rope_global : config.rope_sliding;
    const int32_t rotated = 2 * rope.rotated_pairs(layer.head_dim);
    // Values are normed without a weight. Where all of a key is rotated, nothing is saved.
    const int32_t joined = layer.value_is_key && rotated < layer.head_dim ? rotated : 0;
    state.layers.push_back({kind, layer.kv_heads, layer.head_dim, layer.kv_layer, joined});
  }
  return state;
}

}  // namespace paceline
