#include "model/gemma4/state_of.h"

namespace paceline {

ModelState state_of(const Gemma4Config& config) {
  ModelState state{.window = config.window, .layers = {}};
  for (const LayerConfig& layer : config.layers) {
    const StateKind kind = layer.kind == LayerKind::global ? StateKind::paged : StateKind::window;
    state.layers.push_back({kind, layer.kv_heads, layer.head_dim, layer.kv_layer});
  }
  return state;
}

}  // namespace paceline
