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

}  // namespace paceline
