// How many cores this process may keep busy.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace paceline {

// Those of the affinity mask, and no more than the quotas of the control groups that it is in allow.
[[nodiscard]] int usable_cores();

// How long the calling thread has been ready to run without a core, in all; 0 where the system does not say.
[[nodiscard]] std::chrono::nanoseconds waited_for_core();

// The smallest quota of the control groups that a file like /proc/self/cgroup names, of both versions, and of those
// that they are in, by their files below `mount`; in cores, 0 where there is none.
[[nodiscard]] int cores_of_groups(const std::string& groups, const std::string& mount);

// What a cpu.max says ("150000 100000", "max 100000"), rounded up to whole cores; 0 where it sets no bound.
[[nodiscard]] int cores_of_quota(std::string_view text);

}  // namespace paceline
