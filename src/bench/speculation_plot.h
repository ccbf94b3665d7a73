// The speed of speculation as a picture: for each text a line over depths, plain decoding at 1, the policy's choice at
// the right.
#pragma once

#include <string>

#include "bench/speculation_report.h"

namespace paceline {

// A whole SVG document.
std::string plot_speculation(const SpeculationReport& report);

}  // namespace paceline
