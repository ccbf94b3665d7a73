// The control groups of version 2 that this process is in.
#pragma once

#include <filesystem>
#include <vector>

namespace paceline {

// Their folders, its own first, and then those around it, which have limits of their own.
std::vector<std::filesystem::path> control_groups();

}  // namespace paceline
