// The context of a DFlash drafter: what the target's layers made of tokens that stand, fused, as keys and values.
#pragma once

#include <span>

#include "speculate/dflash/dflash_forward.h"
#include "speculate/dflash/dflash_scratch.h"

namespace paceline {

// What the layers saw of rows of a step, side by side.
void join_rows(const DflashAt& at, const Taps& taps, const DflashContextRows& rows, float* to);
// A few rows at a time: what the layers saw of a long chunk, side by side, would be large.
void remember_rows(const DflashAt& at, std::span<const DflashContextRows> rows, const Taps& taps);

}  // namespace paceline
