#include "base/control_groups.h"

#include <fstream>
#include <string>

namespace paceline {

std::vector<std::filesystem::path> control_groups() {
  std::ifstream groups("/proc/self/cgroup");
  std::string line, path;
  while (std::getline(groups, line))
    if (line.starts_with("0::")) path = line.substr(3);
  std::vector<std::filesystem::path> found;
  for (;;) {
    found.emplace_back("/sys/fs/cgroup" + path);
    if (path.empty() || path == "/") return found;
    path.resize(path.rfind('/'));
  }
}

}  // namespace paceline
