// Manual pages in roff, written from the commands and options as they are.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace paceline {

// paceline(1): what it is, its commands, files and variables.
[[nodiscard]] std::string program_manual(const CLI::App& program);
// paceline-NAME(1).
[[nodiscard]] std::string command_manual(const CLI::App& command);

}  // namespace paceline
