// What shells complete behind "paceline", written from the commands and options as they are.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace paceline {

[[nodiscard]] std::string bash_completion(const CLI::App& program);
[[nodiscard]] std::string zsh_completion(const CLI::App& program);
[[nodiscard]] std::string fish_completion(const CLI::App& program);

}  // namespace paceline
