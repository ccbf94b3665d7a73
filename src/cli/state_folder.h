// Where the program keeps what it would miss, and nobody else: $XDG_STATE_HOME/paceline or ~/.local/state/paceline.
#pragma once

#include <filesystem>

namespace paceline {

// Empty: neither is known.
std::filesystem::path state_folder();

}  // namespace paceline
