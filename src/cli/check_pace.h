// paceline check --pace: what one request costs through the engine, beside the bare loop.
#pragma once

#include "session/opened_model.h"

namespace paceline {

// Returns an exit code.
int check_pace_of(const RunOptions& run, bool json);

}  // namespace paceline
