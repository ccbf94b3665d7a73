// Manual pages in roff, written from the commands and options as they are.
#pragma once

#include <string>

#include "cli/command_line.h"

namespace paceline {

// paceline(1): what it is, its commands, files and variables.
[[nodiscard]] std::string program_manual(const Command& program);
// paceline-NAME(1).
[[nodiscard]] std::string command_manual(const Command& command);

}  // namespace paceline
