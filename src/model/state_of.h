// What the layers of a model remember of a sequence.
#pragma once

#include "model/config.h"
#include "state/state_kind.h"

namespace paceline {

ModelState state_of(const ModelConfig& config);

}  // namespace paceline
