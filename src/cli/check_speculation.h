// `paceline check DIR --speculation`.
#pragma once

#include <filesystem>
#include <vector>

#include "session/machine.h"

namespace paceline {

// whole: every combination instead of a slice. Returns the exit code.
int check_speculation_of(const std::vector<std::filesystem::path>& cases, bool whole, bool json, Machine& machine);

}  // namespace paceline
