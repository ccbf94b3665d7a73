// The control groups that this process is in, of either version.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace paceline {

// The folders of those that may say something of a controller ("cpu", "memory"), its own first, and then those around
// it, which have limits of their own. groups: a file as /proc/self/cgroup; mount: where groups are mounted.
std::vector<std::filesystem::path> control_groups(std::string_view controller,
                                                  const std::string& groups = "/proc/self/cgroup",
                                                  const std::string& mount = "/sys/fs/cgroup");

}  // namespace paceline
