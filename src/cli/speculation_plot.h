// The speed of speculation as a picture: for each text a line over depths, plain decoding at 1, the policy's choice at
// the right.
#pragma once

#include <string>
#include <vector>

#include "cli/bench_speculation.h"

namespace paceline {

// A whole SVG document.
std::string plot_speculation(const std::vector<SpeculationCell>& cells, const std::string& title);

}  // namespace paceline
