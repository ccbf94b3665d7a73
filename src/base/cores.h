// How many cores this process may keep busy.
#pragma once

#include <chrono>
#include <string_view>

namespace paceline {

// Those of the affinity mask, and no more than the quotas of the control groups that it is in allow.
[[nodiscard]] int usable_cores();

// How long the calling thread has been ready to run without a core, in all; 0 where the system does not say.
[[nodiscard]] std::chrono::nanoseconds waited_for_core();

// What a cpu.max says ("150000 100000", "max 100000"), rounded up to whole cores; 0 where it sets no bound.
[[nodiscard]] int cores_of_quota(std::string_view text);

}  // namespace paceline
