// paceline check --pace: what one request costs through the engine, beside the bare loop.
#pragma once

#include <cstdint>

#include "session/opened_model.h"

namespace paceline {

// Returns an exit code.
int check_pace_of(const RunOptions& run, int32_t rounds, bool json);

}  // namespace paceline
