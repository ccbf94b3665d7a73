// Times a few steps and proposals before the first text, so that the first depth is chosen by what this machine takes.
#pragma once

#include <span>

#include "model/forward.h"
#include "speculate/drafter.h"
#include "speculate/step_costs.h"

namespace paceline {

struct TimedDrafter {
  Drafter* drafter = nullptr;  // none: its drafts are not timed
  StepCosts* costs = nullptr;  // written
};

// About as long as `budget_ms` for each; each count is timed once at least, up to the widest that the budget allows.
// Steps are the same whoever drafted: all get the same times of them.
void calibrate(Forward& forward, std::span<const TimedDrafter> drafters, double budget_ms);

}  // namespace paceline
