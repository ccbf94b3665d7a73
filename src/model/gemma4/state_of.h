// What the layers of a model remember of a sequence.
#pragma once

#include "model/gemma4/config.h"
#include "state/state_kind.h"

namespace paceline {

ModelState state_of(const Gemma4Config& config);

}  // namespace paceline
