// How many cores this process may keep busy.
#pragma once

#include <string_view>

namespace paceline {

// Those of the affinity mask, and no more than the quotas of the control groups that it is in allow.
[[nodiscard]] int usable_cores();

// What a cpu.max says ("150000 100000", "max 100000"), rounded up to whole cores; 0 where it sets no bound.
[[nodiscard]] int cores_of_quota(std::string_view text);

}  // namespace paceline
