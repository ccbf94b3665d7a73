#include "cli/state_folder.h"

#include <cstdlib>

namespace paceline {

std::filesystem::path state_folder() {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  if (state != nullptr && *state == '/') return std::filesystem::path(state) / "paceline";
  if (home != nullptr && *home == '/') return std::filesystem::path(home) / ".local/state/paceline";
  return {};
}

}  // namespace paceline
