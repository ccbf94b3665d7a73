// What steps scribble on grows with their rows and contexts. On a device it is taken before keys and values get the
// rest of the memory: the largest steps that can come are run once, over pages that all are the same one.
#pragma once

#include "base/result.h"
#include "engine/engine_settings.h"
#include "model/forward.h"
#include "session/vision.h"
#include "speculate/drafter.h"

namespace paceline {

struct LargestSteps {
  Forward* forward = nullptr;
  Drafter* drafter = nullptr;  // may be none
  Vision* vision = nullptr;    // likewise
};

// An error is the device's last word.
Status run_largest_steps(const LargestSteps& of, const EngineSettings& settings);

// What sequences and graphs of kernels take besides, at most.
size_t bytes_beside_steps(const ModelConfig& config, const EngineSettings& settings, size_t free_bytes);

}  // namespace paceline
