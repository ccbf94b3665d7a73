#include "cli/browser.h"

#include <spawn.h>

#include <array>
#include <cstdlib>

extern char** environ;

namespace paceline {

bool open_browser(const std::string& url) {
  if (std::getenv("DISPLAY") == nullptr && std::getenv("WAYLAND_DISPLAY") == nullptr) return false;
  std::string opener = "xdg-open", page = url;
  const std::array<char*, 3> arguments{opener.data(), page.data(), nullptr};
  pid_t child = 0;
  return ::posix_spawnp(&child, opener.c_str(), nullptr, nullptr, arguments.data(), environ) == 0;
}

}  // namespace paceline
