// Whether the machine has anything else to do.
#pragma once

namespace paceline {

// Share of all cores that was busy over a short while.
double measure_busy();

}  // namespace paceline
