// Small models' declarations of what they remember.
#pragma once

#include <string_view>

#include "state/state_kind.h"

namespace paceline {

// Six layers, every third one paged. dense: each has its own; ple: the last three read an earlier layer's.
inline ModelState tiny_state(std::string_view name, int32_t window) {
  ModelState state{.window = window, .layers = {}};
  int32_t last_of_kind[2] = {0, 0};
  const bool shares = name == "ple";
  for (int32_t i = 0; i < 6; ++i) {
    const bool paged = (i + 1) % 3 == 0;
    if (!shares || i < 3) last_of_kind[paged ? 1 : 0] = i;
    state.layers.push_back({paged ? StateKind::paged : StateKind::window, paged || shares ? 1 : 2, paged ? 64 : 32,
                            last_of_kind[paged ? 1 : 0]});
  }
  return state;
}

// With two layers of a drafter behind them: one that remembers everything, one that sees so far.
inline ModelState with_draft_layers(ModelState state, int32_t window) {
  state.draft_window = window;
  for (const StateKind kind : {StateKind::draft_paged, StateKind::draft_window}) {
    const auto own = static_cast<int32_t>(state.layers.size());
    state.layers.push_back({kind, 2, 24, own, 0, true});
  }
  return state;
}

}  // namespace paceline
