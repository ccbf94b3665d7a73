// What shells complete behind "paceline", written from the commands and options as they are.
#pragma once

#include <string>

#include "cli/command_line.h"

namespace paceline {

[[nodiscard]] std::string bash_completion(const Command& program);
[[nodiscard]] std::string zsh_completion(const Command& program);
[[nodiscard]] std::string fish_completion(const Command& program);

}  // namespace paceline
