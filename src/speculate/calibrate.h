// Times a few steps and proposals before the first text, so that the first depth is chosen by what this machine takes.
#pragma once

#include "model/forward.h"
#include "speculate/proposer.h"
#include "speculate/step_costs.h"

namespace paceline {

// About as long as `budget_ms`; each count is timed once at least, up to the widest that the budget allows. `proposer`
// may be none; it is reset at the end.
void calibrate(Forward& forward, Proposer* proposer, StepCosts& costs, double budget_ms);

}  // namespace paceline
