// Times a few steps and proposals before the first text, so that the first depth is chosen by what this machine takes.
#pragma once

#include "model/forward.h"
#include "speculate/drafter.h"
#include "speculate/step_costs.h"

namespace paceline {

// About as long as `budget_ms`; each count is timed once at least, up to the widest that the budget allows. `drafter`
// may be none.
void calibrate(Forward& forward, Drafter* drafter, StepCosts& costs, double budget_ms);

}  // namespace paceline
